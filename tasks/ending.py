"""Ending an attempt: the results, the task and its subject change in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from db.session import Database, DatabaseAway, Transaction
from observability.metrics import TaskMetrics
from tasks import states
from tasks.courier import Courier
from tasks.errors import LeaseLost
from tasks.records import Ended, Failure, Held
from tasks.submit import Submitter

Transition = Callable[[Transaction, UUID, int], Ended | None]
Save = Callable[[Transaction], None]
_AGAIN_S = 0.5


class Subjects(Protocol):
    """What tasks are about, as far as this room needs to know it."""

    def lock(self, tx: Transaction, subject: UUID) -> None:
        """Lock the subject's row, so that two of its tasks end one after the other."""

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Set the subject's own state right after one of its tasks changed."""


class Endings:
    """The one way in which an attempt ends, whoever ends it: its worker, or the relay for a lost one."""

    def __init__(
        self,
        database: Database,
        courier: Courier,
        submitter: Submitter,
        subjects: Subjects,
        metrics: TaskMetrics,
    ) -> None:
        self._database = database
        self._courier = courier
        self._submitter = submitter
        self._subjects = subjects
        self._metrics = metrics

    def end(
        self,
        task: Held,
        transition: Transition,
        *,
        save: Save | None = None,
        failure: Failure | None = None,
        patience_s: float = 0.0,
    ) -> Ended:
        """Lock the subject, store results, change the task, settle the subject; after the commit, tell.

        Args:
            transition: one of the fenced functions of `tasks.states`.
            save: writes result rows.
            failure: what the transition was given, for the metrics.
            patience_s: how long to try again while PostgreSQL is away; what was worked for isn't thrown
                away for a restart.

        Raises:
            LeaseLost: the token no longer holds the task; nothing was stored.
            DatabaseAway
        """
        until_s = time.monotonic() + patience_s
        while True:
            try:
                return self._end(task, transition, save, failure)
            except DatabaseAway:
                if time.monotonic() + _AGAIN_S > until_s:
                    raise
                time.sleep(_AGAIN_S)

    def _end(self, task: Held, transition: Transition, save: Save | None, failure: Failure | None) -> Ended:
        with self._database.transaction() as tx:
            self._subjects.lock(tx, task.subject)
            ended = transition(tx, task.id, task.token)
            if ended is None:
                # Completed with this token is our own doing: a commit whose answer was lost.
                if (done := states.completed_with(tx, task.id, task.token)) is not None:
                    tx.after_commit(lambda: self._tell(task, done, failure))
                    return done
                raise LeaseLost(f"task {task.id} isn't held with token {task.token}")
            if save is not None:
                save(tx)
            if ended.rerun and ended.outcome in ("completed", "failed"):
                self._submitter.submit(tx, task.kind, task.subject)
            self._subjects.settle(tx, task.subject)
            tx.after_commit(lambda: self._tell(task, ended, failure))
        return ended

    def _tell(self, task: Held, ended: Ended, failure: Failure | None) -> None:
        error_type = failure.error_type if failure and ended.outcome != "snoozed" else None
        self._metrics.ended(task.kind, ended.outcome, ended.attempts, error_type)
        if ended.outcome in ("completed", "failed"):
            self._courier.announce(f"task:{ended.outcome}:{task.kind}", str(task.id))
