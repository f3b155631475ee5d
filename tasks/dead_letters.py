"""Failed tasks: looked at, requeued, discarded; one, or many by a filter. And cancelling live ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from db.session import Database
from tasks import states
from tasks.ending import Subjects
from tasks.filter import COUNT, FAILED, Filter
from tasks.groups import Group, groups

# Requeued in bulk, tasks run behind everything that is new, and not faster than this.
BULK_PRIORITY = 10
BULK_RATE_PER_S = 50.0
_LIMIT = 100_000

Outcome = Literal["requeued", "joined", "discarded", "cancelled", "unchanged"]

_ONE = "SELECT id, kind, subject FROM tasks WHERE id = :id"
_OF_BATCH = "SELECT state, count(*) AS tasks FROM tasks WHERE batch_id = :batch_id GROUP BY state"


@dataclass(frozen=True)
class Done:
    """What became of many tasks: how many by outcome, and how many a time limit left for another call."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    remaining: int = 0


@dataclass(frozen=True)
class _Target:
    id: UUID
    kind: str
    subject: UUID


class DeadLetters:
    """What can be done by hand with tasks. Each change settles its subject in the same transaction."""

    def __init__(self, database: Database, subjects: Subjects) -> None:
        self._database = database
        self._subjects = subjects

    def count(self, which: Filter) -> int:
        """How many failed tasks a filter means: a dry run.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return int(tx.execute(COUNT, which.parameters()).scalar_one())

    def groups(self, *, kind: str | None = None, error_type: str | None = None, limit: int) -> list[Group]:
        """Failed tasks in groups of those that failed alike, the largest first; None is any.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return groups(tx, kind=kind, error_type=error_type, limit=limit)

    def batch(self, batch_id: UUID) -> dict[str, int]:
        """How many of the tasks that were requeued under one id are in which state now.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return {row.state: row.tasks for row in tx.execute(_OF_BATCH, {"batch_id": batch_id})}

    def requeue(self, task_id: UUID) -> Outcome:
        """Run a failed task again, from its first attempt.

        If a twin (same kind and subject) is live the task joins it: it is discarded, as are older
        failed twins.

        Raises:
            LookupError: no such task.
            DatabaseAway
        """
        return self._requeue(self._target(task_id), 0, 0.0, None)

    def requeue_all(
        self,
        which: Filter,
        *,
        rate_per_s: float = BULK_RATE_PER_S,
        limit_s: float | None = None,
        batch_id: UUID | None = None,
    ) -> Done:
        """Requeue all that a filter means, the newest of twins only; fresh uploads go before them.

        Args:
            limit_s: stop after so many seconds, None: when all is done.
            batch_id: what `batch` will know them by.

        Raises:
            DatabaseAway: some may have been requeued.
        """

        def requeue(target: _Target, done: Counter[Outcome]) -> Outcome:
            return self._requeue(target, BULK_PRIORITY, done["requeued"] / rate_per_s, batch_id)

        return self._each(which, requeue, limit_s)

    def discard(self, task_id: UUID) -> Outcome:
        """Give a failed task up.

        Raises:
            LookupError: no such task.
            DatabaseAway
        """
        return self._discard(self._target(task_id))

    def discard_all(self, which: Filter, *, limit_s: float | None = None) -> Done:
        """Give up all that a filter means; `limit_s` as above.

        Raises:
            DatabaseAway: some may have been discarded.
        """
        return self._each(which, lambda target, _: self._discard(target), limit_s)

    def cancel(self, task_id: UUID) -> Outcome:
        """Stop a live task; if it is in hand its result won't be kept.

        Raises:
            LookupError: no such task.
            DatabaseAway
        """
        target = self._target(task_id)
        with self._database.transaction() as tx:
            self._subjects.lock(tx, target.subject)
            changed = states.cancel(tx, target.id)
            self._subjects.settle(tx, target.subject)
        return "cancelled" if changed else "unchanged"

    def _each(
        self, which: Filter, change: Callable[[_Target, Counter[Outcome]], Outcome], limit_s: float | None
    ) -> Done:
        """One transaction a task: nobody waits long for a photo, and what is done stays done."""
        until_s = None if limit_s is None else time.monotonic() + limit_s
        done = Counter[Outcome]()
        for target in self._targets(which):
            if until_s is not None and time.monotonic() > until_s:
                return Done(done, self.count(which))
            done[change(target, done)] += 1
        return Done(done)

    def _requeue(self, target: _Target, priority: int, delay_s: float, batch_id: UUID | None) -> Outcome:
        try:
            return self._requeue_once(target, priority, delay_s, batch_id)
        except IntegrityError:  # a twin was submitted between our look and our change: join it
            return self._requeue_once(target, priority, delay_s, batch_id)

    def _requeue_once(self, target: _Target, priority: int, delay_s: float, batch_id: UUID | None) -> Outcome:
        with self._database.transaction() as tx:
            self._subjects.lock(tx, target.subject)
            outcome: Outcome
            if states.requeue(tx, target.id, priority=priority, delay_s=delay_s, batch_id=batch_id):
                outcome = "requeued"
            else:
                outcome = "joined" if states.discard(tx, target.id) else "unchanged"
            if outcome != "unchanged":
                states.discard_failed(tx, target.kind, target.subject)
                self._subjects.settle(tx, target.subject)
        return outcome

    def _discard(self, target: _Target) -> Outcome:
        with self._database.transaction() as tx:
            self._subjects.lock(tx, target.subject)
            changed = states.discard(tx, target.id)
            self._subjects.settle(tx, target.subject)
        return "discarded" if changed else "unchanged"

    def _target(self, task_id: UUID) -> _Target:
        with self._database.transaction() as tx:
            row = tx.execute(_ONE, {"id": task_id}).one_or_none()
        if row is None:
            raise LookupError(f"there is no task {task_id}")
        return _Target(**row._asdict())

    def _targets(self, which: Filter) -> list[_Target]:
        with self._database.transaction() as tx:
            rows = tx.execute(FAILED, {**which.parameters(), "limit": _LIMIT})
            return [_Target(**row._asdict()) for row in rows]
