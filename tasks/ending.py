"""Ending an attempt: the results, the task and its subject change in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from db.session import Database
from db.transaction import Callback, DatabaseAway, Transaction, run_all
from observability.metrics import TaskMetrics
from tasks import states
from tasks.courier import Courier
from tasks.errors import LeaseLost
from tasks.records import Ended, Failure, Held
from tasks.submit import Submitter
from tasks.together import LOCK_TIMEOUT_S, Together

logger = logging.getLogger(__name__)

Transition = Callable[[Transaction, UUID, int], Ended | None]
Save = Callable[[Transaction], None]
_AGAIN_S = 0.5
_OVER = ("completed", "failed")


class Subjects(Protocol):
    """What tasks are about, as far as this room needs to know it."""

    def lock(self, tx: Transaction, *subjects: UUID) -> None:
        """Lock the subjects' rows, in the order of their ids, so that tasks of one end one after another.

        That may come with the next statement.
        """

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Set the subject's own state right after one of its tasks changed."""


@dataclass(frozen=True)
class _Completion:
    """What one thread completes; what another does of it has its `context`: trace id, log lines."""

    task: Held
    save: Save
    context: Context


_Completed = tuple[Ended, list[Callback]]


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
        self._completions = Together(self._complete_all)

    def complete(self, results: Sequence[tuple[Held, Save]], *, patience_s: float) -> list[Ended | Exception]:
        """As `end` by `states.complete`; what several threads complete at once is committed together.

        Returns:
            How each ended, or what `end` raised.
        """
        context = copy_context()
        completions = [_Completion(task, save, context) for task, save in results]
        answers = self._completions(completions)
        until_s = time.monotonic() + patience_s
        return [self._completed(*each, until_s) for each in zip(completions, answers, strict=True)]

    def _completed(
        self, completion: _Completion, answer: _Completed | None, until_s: float
    ) -> Ended | Exception:
        task = completion.task
        if answer is None:  # by itself it shows what was in the way, and of which
            left_s = until_s - time.monotonic()
            try:
                return self.end(task, states.complete, save=completion.save, patience_s=left_s)
            except Exception as error:  # noqa: BLE001 (it is one's own, and the others go on)
                return error
        ended, callbacks = answer
        run_all(callbacks)
        self._tell(task, ended)
        return ended

    def _complete_all(self, asked: Sequence[Sequence[_Completion]]) -> list[list[_Completed | None]]:
        """Complete those that can be, or none; for the others there is None."""
        completions = [each for one in asked for each in one]
        answers: dict[tuple[UUID, int], _Completed] = {}
        try:
            with self._database.transaction(lock_timeout_s=LOCK_TIMEOUT_S) as tx:
                self._subjects.lock(tx, *{each.task.subject for each in completions})
                ended = states.complete_all(tx, [each.task.claim for each in completions])
                done = [each for each in completions if each.task.claim in ended]
                last = {each.task.subject: each for each in done}
                for each in done:
                    task = each.task
                    with tx.callbacks() as callbacks:
                        each.context.run(self._keep, tx, task, ended[task.claim], each.save)
                        if last[task.subject] is each:
                            each.context.run(self._subjects.settle, tx, task.subject)
                    answers[task.claim] = ended[task.claim], callbacks
        except Exception as error:  # noqa: BLE001 (each finds out by itself)
            level = logging.DEBUG if isinstance(error, DatabaseAway) else logging.WARNING
            logger.log(level, "%d not completed together: %s", len(completions), type(error).__name__)
            answers.clear()
        return [[answers.get(each.task.claim) for each in one] for one in asked]

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
            self._keep(tx, task, ended, save)
            self._subjects.settle(tx, task.subject)
            tx.after_commit(lambda: self._tell(task, ended, failure))
        return ended

    def _keep(self, tx: Transaction, task: Held, ended: Ended, save: Save | None) -> None:
        if save is not None:
            save(tx)
        if ended.rerun and ended.outcome in _OVER:
            self._submitter.submit(tx, task.kind, task.subject)

    def _tell(self, task: Held, ended: Ended, failure: Failure | None = None) -> None:
        error_type = failure.error_type if failure and ended.outcome != "snoozed" else None
        self._metrics.ended(task.kind, ended.outcome, ended.attempts, error_type)
        if ended.outcome in _OVER:
            self._courier.announce(f"task:{ended.outcome}:{task.kind}", str(task.id))
