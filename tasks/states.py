"""The states of a task, and the only statements that change them.

    submit ─▶ pending ─publish─▶ queued ─claim─▶ processing ─▶ completed | failed | pending again

Every statement that ends an attempt is fenced: it names the token that the claim handed out, and does
nothing if another claim, a rescue or a cancel came in between. Each writes its event, and its attempt,
in the same statement. All instants are PostgreSQL's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Row

from db.prepared import Prepared
from db.transaction import Transaction
from observability.logs import context
from tasks import claim_statements as claiming
from tasks import statements as sql
from tasks import upkeep_statements as upkeep
from tasks.courier import Dispatch
from tasks.kinds import Kind
from tasks.records import Claimed, Ended, Failure, Held, Submitted, Wanted

# With more than so many before it a task needn't be on its way at once: the relay's next round will do. To
# count how far the window is filled costs more, with each upload, than what is written.
BORN_WINDOW = 100
ALONG_S = 120.0
"""How long a task waits for one that may take it along (`Kind.along_with`), before it runs by itself."""


def submit(tx: Transaction, kinds: Sequence[Kind], subject: UUID, *, window: int) -> list[Submitted]:
    """Make a task of each kind, or share the live one for the same kind and subject (`Kind.second_submit`).

    One is born `queued` if its queue isn't paused and has no rate, nothing due waits before it and fewer
    than `window` tasks are queued, and fewer than `BORN_WINDOW`; else `pending`, for the relay. So is one
    that another of `kinds` may take along, and it isn't due for `ALONG_S`. It gets the trace id of what is
    being done here, a request say; a live one keeps its own.
    """
    names = [kind.name for kind in kinds]
    rows = tx.execute(
        sql.SUBMIT,
        {
            "ids": [uuid4() for _ in kinds],
            "kinds": names,
            "subject": subject,
            "max_attempts": [kind.max_attempts for kind in kinds],
            "delays_s": [ALONG_S if kind.along_with in names else 0.0 for kind in kinds],
            "rerun": [kind.name for kind in kinds if kind.second_submit == "rerun"],
            "window": min(window, BORN_WINDOW),
            "trace_id": context().get("trace_id"),
        },
    )
    submitted = {}
    for row in rows:
        send_now = row.created and row.state == "queued"
        dispatch = Dispatch(row.kind, row.id, 1) if send_now else None
        submitted[row.kind] = Submitted(row.id, row.created, dispatch)
    return [submitted[name] for name in names]


def submit_many(tx: Transaction, kind: Kind, subjects: Sequence[UUID]) -> int:
    """Make a `pending` task for each subject that has no live one, in one statement; returns how many."""
    return int(
        tx.execute(
            sql.SUBMIT_MANY,
            {
                "ids": [uuid4() for _ in subjects],
                "subjects": list(subjects),
                "kind": kind.name,
                "max_attempts": kind.max_attempts,
                "rerun": kind.second_submit == "rerun",
                "trace_id": context().get("trace_id"),
            },
        ).scalar_one()
    )


BULK_WINDOW = 20


def publish(tx: Transaction, kind: Kind, *, window: int, at_most: int | None = None) -> list[Dispatch]:
    """Take due tasks from `pending` to `queued`, at most so many that `window` are queued.

    `at_most` bounds how many are taken, for a queue that has a rate.

    Redis is first in, first out. So that what comes fresh needn't wait behind a mass requeue, tasks of
    a priority above 0 are published only while fewer than `BULK_WINDOW` are queued.
    """
    rows: list[Row[Any]] = []
    for bulk, room in ((False, window), (True, min(window, BULK_WINDOW))):
        left = None if at_most is None else at_most - len(rows)
        rows += tx.execute(sql.PUBLISH, {"kind": kind.name, "bulk": bulk, "window": room, "at_most": left})
    rows.sort(key=lambda row: (row.priority, row.run_at, row.id))  # RETURNING promises no order
    return [Dispatch(kind.name, row.id, row.dispatch) for row in rows]


def queued_long(tx: Transaction, kind: Kind, *, after_s: float) -> list[UUID]:
    """Tasks `queued` for over `after_s`, and whose message wasn't sent again within three times that."""
    return list(tx.execute(sql.UNSENT, {"kind": kind.name, "after_s": after_s}).scalars())


def resend(tx: Transaction, kind: Kind, ids: list[UUID]) -> list[Dispatch]:
    """Give tasks that are still `queued` a new message, under a new number."""
    rows = tx.execute(sql.RESEND, {"ids": ids})
    return [Dispatch(kind.name, row.id, row.dispatch) for row in rows]


# Past the time limit a worker gets this long to say so itself, before the task is taken from it.
LIMIT_GRACE_S = 5.0


def claim(tx: Transaction, wanted: Sequence[Wanted], *, worker: str, lease_s: float) -> dict[UUID, Claimed]:
    """Take queued tasks into hand, each with a token newer than any before.

    Of several that is not to be had which someone else has locked at this moment. One alone waits for that.

    Returns:
        Those that were to be had, and what they took along, by their ids.
    """
    asked = {
        "id": [each.id for each in wanted],
        "dispatch": [each.dispatch for each in wanted],
        "limit_s": [each.limit_s + LIMIT_GRACE_S for each in wanted],
        "along": [each.along for each in wanted],
    }
    statement = claiming.CLAIM if len(wanted) == 1 else claiming.CLAIM_MANY
    rows = tx.execute(statement, {**asked, "worker": worker, "lease_s": lease_s})
    return {row.id: Claimed(**row._asdict()) for row in rows}


def claimed_by(tx: Transaction, wanted: Wanted, worker: str) -> dict[UUID, Claimed]:
    """The task, and the one it took along, as this worker claimed them and holds them; nothing is changed."""
    asked = {"id": wanted.id, "along": wanted.along, "worker": worker}
    return {row.id: Claimed(**row._asdict()) for row in tx.execute(claiming.CLAIMED_BY, asked)}


def hasten(tx: Transaction, kind: str, subject: UUID) -> None:
    """Let a task that waits to be taken along wait no longer: what would have done that is over."""
    tx.execute(claiming.HASTEN, {"kind": kind, "subject": subject})


def touch(tx: Transaction, held: list[tuple[UUID, int]], *, lease_s: float) -> set[tuple[UUID, int]]:
    """Extend the leases of all (task, token) pairs; returns those that are still held."""
    ids, tokens = [pair[0] for pair in held], [pair[1] for pair in held]
    rows = tx.execute(claiming.TOUCH, {"ids": ids, "tokens": tokens, "lease_s": lease_s})
    return {(row.id, row.token) for row in rows}


def expired(tx: Transaction, kinds: Iterable[str], *, lease_s: float) -> list[Held]:
    """Tasks whose lease ran out; none within a lease of PostgreSQL's start, which may be why."""
    return [
        Held(**row._asdict()) for row in tx.execute(sql.EXPIRED, {"kinds": list(kinds), "lease_s": lease_s})
    ]


_NO_FAILURE: dict[str, Any] = {"error_type": None, "error_detail": None, "traceback": None}


def _end(tx: Transaction, statement: Prepared, task_id: UUID, token: int, **parameters: Any) -> Ended | None:
    row = tx.execute(statement, {"id": task_id, "token": token, **parameters}).one_or_none()
    return _ended(row) if row else None


def _ended(row: Any) -> Ended:
    return Ended(row.outcome, row.rerun, row.attempts, row.again_in_s)


def complete_all(tx: Transaction, claims: Iterable[tuple[UUID, int]]) -> dict[tuple[UUID, int], Ended]:
    """`processing` to `completed`; older failed tasks of the same kind and subject are discarded.

    Args:
        claims: ids of tasks, each with the token that holds it.

    Returns:
        Those whose token is still the one that holds the task.
    """
    held = sorted(claims)  # all lock tasks in this order
    if len(held) == 1:
        [(task_id, token)] = held
        rows = tx.execute(sql.COMPLETE, {"id": task_id, "token": token, **_NO_FAILURE})
    else:
        ids, tokens = zip(*held, strict=True)
        rows = tx.execute(sql.COMPLETE_MANY, {"id": list(ids), "token": list(tokens), **_NO_FAILURE})
    return {(row.id, row.token): _ended(row) for row in rows}


def complete(tx: Transaction, task_id: UUID, token: int) -> Ended | None:
    """Complete one task; None if the token is no longer the one that holds it."""
    return complete_all(tx, [(task_id, token)]).get((task_id, token))


def completed_with(tx: Transaction, task_id: UUID, token: int) -> Ended | None:
    """How the task was completed, if it was and with this token; nothing is changed."""
    row = tx.execute(sql.COMPLETED_WITH, {"id": task_id, "token": token}).one_or_none()
    return _ended(row) if row else None


def fail(tx: Transaction, task_id: UUID, token: int, failure: Failure) -> Ended | None:
    """`processing` to `failed`, whatever attempts are left."""
    return _end(tx, sql.FAIL, task_id, token, **failure.parameters())


def retry(
    tx: Transaction,
    task_id: UUID,
    token: int,
    failure: Failure,
    kind: Kind,
    *,
    at_least_s: float = 0.0,
    expired: bool = False,
) -> Ended | None:
    """`processing` to `pending` with the kind's backoff, or to `failed` if its attempts are used up.

    Args:
        at_least_s: the shortest wait, such as a remote's Retry-After.
        expired: only if the lease has run out (a rescue), and without a backoff: the lease was one.
    """
    base_s = 0.0 if expired else kind.backoff_base_s
    backoff = {"base_s": base_s, "cap_s": kind.backoff_cap_s, "at_least_s": at_least_s}
    return _end(tx, sql.RETRY, task_id, token, **failure.parameters(), **backoff, expired=expired)


def snooze(
    tx: Transaction, task_id: UUID, token: int, failure: Failure | None, *, for_s: float
) -> Ended | None:
    """`processing` to `pending` in `for_s` seconds, with the attempt given back."""
    kept = failure.parameters() if failure else _NO_FAILURE
    return _end(tx, sql.SNOOZE, task_id, token, **kept, for_s=for_s)


def poll(tx: Transaction, task_id: UUID, token: int, *, for_s: float) -> Ended | None:
    """`processing` to `pending`, at the back of the line in `for_s` seconds: it isn't done yet.

    That is no failure: it has all its attempts again.
    """
    return _end(tx, sql.POLL, task_id, token, **_NO_FAILURE, for_s=for_s)


# What follows is done by hand: by operators and owners. The subject must be locked by the caller.


def origin() -> dict[str, str]:
    """Who asks, as an event keeps it: what the log says of the request or the command under way."""
    said = context()
    return {name: said[name] for name in _ORIGIN if name in said}


def _origin() -> str:
    return json.dumps(origin())


_ORIGIN = ("by", "key_id", "request_id", "trace_id")


def cancel(tx: Transaction, task_id: UUID) -> bool:
    """Any live state to `cancelled`; whoever has it in hand learns it with the next heartbeat."""
    return tx.execute(upkeep.CANCEL_ONE, {"id": task_id, "origin": _origin()}).one_or_none() is not None


def abandon(tx: Transaction, subject: UUID) -> None:
    """The subject is going: cancel its live tasks, discard its failed ones."""
    parameters = {"subject": subject, "origin": _origin()}
    tx.execute(upkeep.CANCEL_ALL, parameters)
    tx.execute(upkeep.DISCARD_ALL, parameters)


def requeue(
    tx: Transaction, task_id: UUID, *, priority: int = 0, delay_s: float = 0.0, batch_id: UUID | None = None
) -> bool:
    """`failed` to `pending`, with all its attempts again; False if it isn't failed or has a live twin."""
    given = {"id": task_id, "priority": priority, "delay_s": delay_s, "batch_id": batch_id}
    return tx.execute(upkeep.REQUEUE, {**given, "origin": _origin()}).one_or_none() is not None


def discard(tx: Transaction, task_id: UUID) -> bool:
    """`failed` to `discarded`: nobody will deal with it."""
    return tx.execute(upkeep.DISCARD_ONE, {"id": task_id, "origin": _origin()}).one_or_none() is not None


def discard_failed(tx: Transaction, kind: str, subject: UUID) -> None:
    """Discard all failed tasks of one kind and subject: a newer one takes their place."""
    tx.execute(upkeep.DISCARD_OF_KIND, {"kind": kind, "subject": subject, "origin": _origin()})


def unpublish(tx: Transaction, kind: Kind) -> None:
    """Take a paused queue's tasks from `queued` back to `pending`; their messages become stale."""
    tx.execute(upkeep.UNPUBLISH_PAUSED, {"kind": kind.name})


def withdraw(tx: Transaction, kind: Kind) -> None:
    """Take all of a queue's tasks from `queued` back to `pending`, for the relay to publish them anew."""
    tx.execute(upkeep.UNPUBLISH, {"kind": kind.name})


def prune(tx: Transaction, *, retention_s: float, limit: int) -> int:
    """Delete ended tasks, but no failed ones, and their attempts and events; returns how many."""
    parameters = {"retention_s": retention_s, "limit": limit}
    tx.execute(upkeep.PRUNE_EVENTS, parameters)
    return int(tx.execute(upkeep.PRUNE, parameters).scalar_one())
