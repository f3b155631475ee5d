"""Working on tasks: claim one, keep its lease, end it one way or another."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from uuid import UUID

from dramatiq.threading import raise_thread_exception

from db.session import Database
from db.transaction import DatabaseAway
from observability.logs import logging_with
from observability.metrics import TaskMetrics
from tasks import records, states
from tasks.claim import Claim
from tasks.ending import Endings, Save, Transition
from tasks.errors import LeaseLost, StaleMessage, TimeLimitReached
from tasks.kinds import Kind
from tasks.together import LOCK_TIMEOUT_S, Together

logger = logging.getLogger(__name__)

_CLAIM_AGAIN_S = 1.0
_LIMIT_GRACE_S = 1.0


class Work:
    """The tasks that this process has in hand, and the ways to end them.

    Args:
        worker: this process' name, kept with each attempt.
        lease_s: how long a task stays ours without a heartbeat.
    """

    def __init__(
        self,
        database: Database,
        endings: Endings,
        kinds: Mapping[str, Kind],
        metrics: TaskMetrics,
        *,
        worker: str,
        lease_s: float,
    ) -> None:
        self._database = database
        self._endings = endings
        self._kinds = kinds
        self._along = {kind.along_with: kind.name for kind in kinds.values() if kind.along_with is not None}
        if len(self._along) < sum(kind.along_with is not None for kind in kinds.values()):
            raise ValueError("a kind takes one other along, not several")
        self._metrics = metrics
        self.worker = worker
        self._lease_s = lease_s
        self._held: dict[tuple[UUID, int], Claim] = {}
        self._thread = threading.local()
        self._stopping = threading.Event()
        self._claims = Together(self._claim_all)

    @contextmanager
    def claimed(self, kind_name: str, task_id: str) -> Iterator[Claim]:
        """Take a task into hand for the block, which ends it by `claim.complete`.

        Another one of the same subject comes with it (`claim.along`), if its kind says so and nobody had it
        in hand yet. If the block doesn't complete that too it is given back, and runs by itself then.

        While PostgreSQL is away it waits. If the block raises, the claim stays this thread's (`in_hand`),
        for the retry middleware to end.

        Raises:
            StaleMessage: the task isn't to be had; its message is out of date.
            DatabaseAway: and this worker is stopping.
        """
        kind = self._kinds[kind_name]
        taken = self._claim(kind, UUID(task_id))
        if not taken:
            raise StaleMessage(f"task {task_id} isn't queued")
        claim = self._hold(taken[0], kind)
        if claim is None:  # another thread had a message of it too
            raise StaleMessage(f"task {task_id} is in hand here")
        self._thread.claim = claim
        for task in taken[1:]:
            claim.along = self._hold_along(task)
        with logging_with(**claim.log_fields):
            logger.debug("claimed")
            self._metrics.begun(kind.name, claim.task.waited_s)
            try:
                yield claim
            finally:
                self._is_ending(claim)  # no time limit shall strike any more
                self._leave_along(claim)
            if not claim.ended:
                raise RuntimeError(f"the {kind.name} actor returned without completing its task")

    def _hold(self, task: records.Claimed, kind: Kind) -> Claim | None:
        """The task as this thread's own; None if another thread has it in hand."""
        claim = Claim(self, task, kind)
        return claim if self._held.setdefault(task.claim, claim) is claim else None

    def _hold_along(self, task: records.Claimed) -> Claim | None:
        claim = self._hold(task, self._kinds[task.kind])
        if claim is not None:
            claim.limited = True  # it is the other's time that runs
        return claim

    def _leave_along(self, lead: Claim) -> None:
        """Have what went along run by itself, or what might have, unless it is done.

        There is one try: its lease, or its time to wait, runs out anyhow, and the lead is yet to be ended.
        """
        claim = lead.along
        if claim is not None and claim.ended:
            return
        with logging_with(**(lead if claim is None else claim).log_fields):
            try:
                if claim is not None:
                    self.end(claim, partial(states.snooze, failure=None, for_s=0.0), patience_s=0.0)
                elif (kind := self._along.get(lead.kind.name)) is not None:
                    with self._database.statement() as tx:
                        states.hasten(tx, kind, lead.subject)
            except (LeaseLost, DatabaseAway) as error:
                logger.info("%s", error)
            finally:
                if claim is not None:
                    self.forget(claim)

    def _claim(self, kind: Kind, task_id: UUID) -> list[records.Claimed]:
        """The task, and what it takes along; nothing if it isn't to be had."""
        dispatch = getattr(self._thread, "dispatch", None)
        wanted = records.Wanted(task_id, dispatch, kind.time_limit_s, self._along.get(kind.name))
        unsure = False
        while True:
            try:
                # Was it the claim's answer alone that was lost? No one else has this worker's name.
                if unsure and (mine := self._claimed(wanted)):
                    return mine
                return self._claims(wanted) or self._claim_all([wanted])[0]
            except DatabaseAway:
                unsure = True
                if self._stopping.wait(_CLAIM_AGAIN_S):
                    raise

    def _claimed(self, wanted: records.Wanted) -> list[records.Claimed]:
        with self._database.statement() as tx:
            return _shared_out([wanted], states.claimed_by(tx, wanted, self.worker))[0]

    def _claim_all(self, wanted: Sequence[records.Wanted]) -> list[list[records.Claimed]]:
        with self._database.statement(lock_timeout_s=LOCK_TIMEOUT_S) as tx:
            claimed = states.claim(tx, wanted, worker=self.worker, lease_s=self._lease_s)
        return _shared_out(wanted, claimed)

    def received(self, message_id: str) -> None:
        """This thread's next claim is for a message of this id."""
        number = message_id.rpartition(".")[2]
        self._thread.dispatch = int(number) if number.isdecimal() else None

    def stop(self) -> None:
        """Wait for PostgreSQL no more: this worker takes no new task."""
        self._stopping.set()

    def in_hand(self) -> Claim | None:
        """The claim that this thread took and hasn't ended."""
        claim: Claim | None = getattr(self._thread, "claim", None)
        return None if claim is None or claim.ended else claim

    def fail(self, claim: Claim, failure: records.Failure) -> None:
        """End the attempt and the task: it is a dead letter now."""
        self.end(claim, partial(states.fail, failure=failure), failure=failure)

    def retry(self, claim: Claim, failure: records.Failure, *, at_least_s: float = 0.0) -> None:
        """End the attempt; the task runs again after its kind's backoff, or fails if it was the last."""
        again = partial(states.retry, failure=failure, kind=claim.kind, at_least_s=at_least_s)
        self.end(claim, again, failure=failure)

    def snooze(self, claim: Claim, failure: records.Failure | None, *, for_s: float) -> None:
        """Give the task back for `for_s` seconds, and its attempt too."""
        self.end(claim, partial(states.snooze, failure=failure, for_s=for_s), failure=failure)

    def complete(self, claim: Claim, save: Save, along: Save | None = None) -> None:
        """Raises LeaseLost, DatabaseAway: see `Endings.complete`."""
        both = [(claim, save)]
        if claim.along is not None and along is not None:
            both.append((claim.along, along))
        for each, _ in both:
            self._is_ending(each)
        results = [(each.task, save) for each, save in both]
        ended = self._endings.complete(results, patience_s=self._lease_s)
        for (each, _), how in zip(both, ended, strict=True):
            with logging_with(**each.log_fields):
                if isinstance(how, records.Ended):
                    if each is not claim:
                        self._metrics.begun(each.kind.name, each.task.waited_s)
                    self._ended(each, how)
                elif each is not claim:
                    logger.info("what was taken along isn't completed: %s", type(how).__name__)
        if isinstance(ended[0], Exception):
            raise ended[0]

    def end(
        self,
        claim: Claim,
        transition: Transition,
        *,
        save: Save | None = None,
        failure: records.Failure | None = None,
        patience_s: float | None = None,
    ) -> None:
        """Raises LeaseLost, DatabaseAway: see `Endings.end`; its patience is a lease's length by default."""
        end = partial(
            self._endings.end,
            claim.task,
            transition,
            save=save,
            failure=failure,
            patience_s=self._lease_s if patience_s is None else patience_s,
        )
        self._is_ending(claim)
        self._ended(claim, end(), failure)

    @staticmethod
    def _is_ending(claim: Claim) -> None:
        with claim.guard:  # what comes now has limits of its own, and others may wait for it
            claim.limited = True

    def _ended(self, claim: Claim, ended: records.Ended, failure: records.Failure | None = None) -> None:
        ran_s = time.monotonic() - claim.begun_s
        self._metrics.worked(claim.kind.name, ran_s)
        self.forget(claim)
        ended.log(logger, failure, waited_s=claim.task.waited_s, ran_s=ran_s)

    def forget(self, claim: Claim) -> None:
        """Hold a claim no longer: it was ended, here or elsewhere, or its lease is left to run out."""
        with claim.guard:
            claim.ended = True
        self._held.pop(claim.task.claim, None)

    def held(self) -> list[Claim]:
        """The claims that all threads have in hand at this moment."""
        return list(self._held.values())

    def heartbeat(self) -> None:
        """Extend the leases of all that is in hand; mark what was taken from us.

        Raises:
            DatabaseAway
        """
        held = self.held()
        if not held:
            return
        with self._database.statement() as tx:
            pairs = [claim.task.claim for claim in held]
            kept = states.touch(tx, pairs, lease_s=self._lease_s)
        for claim in held:
            if claim.task.claim not in kept and not claim.ended:
                claim.lost.set()

    def enforce_limits(self) -> None:
        """Raise `TimeLimitReached` in each thread whose task is past its kind's time limit, once.

        It ends Python code. What may hang in C runs in a child process with a limit of its own
        (`Claim.left_s`), a little shorter than this one.
        """
        for claim in self.held():
            over_s = time.monotonic() - claim.begun_s - claim.kind.time_limit_s
            # The guard keeps the exception within the task: it can't strike when the claim has ended.
            with claim.guard:
                if over_s > _LIMIT_GRACE_S and not claim.limited and not claim.ended:
                    claim.limited = True
                    raise_thread_exception(claim.thread_id, TimeLimitReached)


def _shared_out(
    wanted: Sequence[records.Wanted], claimed: dict[UUID, records.Claimed]
) -> list[list[records.Claimed]]:
    """What each who asked got: its own, which two may have asked for, and then what that took along."""
    leads = [claimed.pop(each.id, None) for each in wanted]
    return [
        []
        if lead is None
        else [
            lead,
            *(task for task in claimed.values() if (task.subject, task.kind) == (lead.subject, each.along)),
        ]
        for each, lead in zip(wanted, leads, strict=True)
    ]
