"""Failed tasks: looked at, requeued, discarded; one, or many by a filter. And cancelling live ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from db.session import Database
from tasks import states
from tasks.ending import Subjects

# Requeued in bulk, tasks run behind everything that is new, and not faster than this.
BULK_PRIORITY = 10
BULK_RATE_PER_S = 50.0

Outcome = Literal["requeued", "joined", "discarded", "cancelled", "unchanged"]

_ONE = "SELECT id, kind, subject FROM tasks WHERE id = :id"
_FAILED = """
SELECT id, kind, subject FROM tasks
WHERE state = 'failed' AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:error_type AS text) IS NULL OR error_type = :error_type)
ORDER BY created_at DESC, id DESC LIMIT :limit
"""


@dataclass(frozen=True)
class Filter:
    """Which failed tasks are meant; None is any."""

    kind: str | None = None
    error_type: str | None = None
    limit: int = 100_000


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
        return len(self._targets(which))

    def requeue(self, task_id: UUID) -> Outcome:
        """Run a failed task again, from its first attempt.

        If a twin (same kind and subject) is live the task joins it: it is discarded, as are older
        failed twins.

        Raises:
            LookupError: no such task.
            DatabaseAway
        """
        return self._requeue(self._target(task_id), priority=0, delay_s=0.0)

    def requeue_all(self, which: Filter, *, rate_per_s: float = BULK_RATE_PER_S) -> Counter[Outcome]:
        """Requeue all that a filter means, the newest of twins only; fresh uploads go before them.

        Raises:
            DatabaseAway: some may have been requeued.
        """
        counts = Counter[Outcome]()
        for target in self._targets(which):
            delay_s = counts["requeued"] / rate_per_s
            counts[self._requeue(target, priority=BULK_PRIORITY, delay_s=delay_s)] += 1
        return counts

    def discard(self, task_id: UUID) -> Outcome:
        """Give a failed task up.

        Raises:
            LookupError: no such task.
            DatabaseAway
        """
        return self._discard(self._target(task_id))

    def discard_all(self, which: Filter) -> Counter[Outcome]:
        """Give up all that a filter means.

        Raises:
            DatabaseAway: some may have been discarded.
        """
        return Counter(self._discard(target) for target in self._targets(which))

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

    def _requeue(self, target: _Target, *, priority: int, delay_s: float) -> Outcome:
        try:
            return self._requeue_once(target, priority, delay_s)
        except IntegrityError:  # a twin was submitted between our look and our change: join it
            return self._requeue_once(target, priority, delay_s)

    def _requeue_once(self, target: _Target, priority: int, delay_s: float) -> Outcome:
        with self._database.transaction() as tx:
            self._subjects.lock(tx, target.subject)
            outcome: Outcome
            if states.requeue(tx, target.id, priority=priority, delay_s=delay_s):
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
        return _Target(**row._mapping)

    def _targets(self, which: Filter) -> list[_Target]:
        with self._database.transaction() as tx:
            return [_Target(**row._mapping) for row in tx.execute(_FAILED, vars(which))]
