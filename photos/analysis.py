"""What a slow remote service says of a photo: asked for once, kept as it comes, complete in the end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from db.session import Database
from db.tables import LIVE_STATES
from db.transaction import Transaction
from photos.errors import AnalysisNotConfigured, PhotoNotFound
from photos.kinds import ANALYSIS
from remote.answer import Answer
from tasks.records import Claimed
from tasks.submit import Submitter
from tasks.views import ErrorView, TaskView, instant

_MINE = "SELECT FROM photos WHERE id = :id AND owner = :owner FOR UPDATE"
_COMPLETE = """
SELECT EXISTS (SELECT FROM analyses WHERE photo_id = :id AND completed_at IS NOT NULL)
   AND coalesce((SELECT state FROM tasks WHERE subject = :id AND kind = :kind AND state <> 'discarded'
                 ORDER BY created_at DESC, id DESC LIMIT 1), 'completed') = 'completed'
"""
_CALLED = "SELECT EXISTS (SELECT FROM attempts WHERE task_id = :id AND finished_at IS NOT NULL)"
_OPERATION = "SELECT operation_url FROM analyses WHERE photo_id = :id AND run = :run"
# What an earlier run left unfinished isn't mixed with this one's.
_SAVE = """
INSERT INTO analyses AS old (photo_id, run, operation_url, polls, partial)
VALUES (:id, :run, :operation_url, 1, CAST(:data AS jsonb))
ON CONFLICT (photo_id) DO UPDATE SET
    run = excluded.run,
    operation_url = CASE WHEN old.run = excluded.run
        THEN coalesce(excluded.operation_url, old.operation_url) ELSE excluded.operation_url END,
    polls = CASE WHEN old.run = excluded.run THEN old.polls ELSE 0 END + 1,
    partial = CASE WHEN old.run = excluded.run THEN old.partial ELSE '{}' END || excluded.partial,
    updated_at = clock_timestamp()
"""
_FINISH = """
UPDATE analyses SET result = partial, partial = '{}', completed_at = clock_timestamp() WHERE photo_id = :id
"""


@dataclass(frozen=True)
class AnalysisView:
    """What is known of a photo, and whether more will be.

    Attributes:
        state: `processing` while there is a live task, `complete`, or `failed`.
        data: the newest complete result, with what came of a run under way laid over it, name by name.
        polls: answers that the newest run got.
        next_poll_at: when the service is asked next, if it is to be asked.
    """

    state: str
    data: dict[str, Any]
    polls: int
    next_poll_at: datetime | None
    completed_at: datetime | None
    error: ErrorView | None


@dataclass(frozen=True)
class Requested:
    """What asking came to; `task_id` is that of a task that is new."""

    complete: bool
    task_id: UUID | None


class Analyses:
    """Submits the tasks, and keeps what the service answers.

    Args:
        configured: whether there is a service.
    """

    def __init__(self, database: Database, submitter: Submitter, *, configured: bool) -> None:
        self._database = database
        self._submitter = submitter
        self._configured = configured

    def check(self) -> None:
        """Raises AnalysisNotConfigured if there is no service."""
        if not self._configured:
            raise AnalysisNotConfigured("no analysis service is configured here (SAFELIGHT_ANALYSIS_URL)")

    def request(self, photo_id: UUID, *, owner: str, refresh: bool = False) -> Requested:
        """Have a photo analysed, unless it is already, or being so.

        Args:
            refresh: ask anew though there is a complete result.

        Raises:
            AnalysisNotConfigured, PhotoNotFound, DatabaseAway
        """
        self.check()
        with self._database.transaction() as tx:
            if tx.execute(_MINE, {"id": photo_id, "owner": owner}).one_or_none() is None:
                raise PhotoNotFound(f"there is no photo {photo_id}")
            which = {"id": photo_id, "kind": ANALYSIS.name}
            if not refresh and tx.execute(_COMPLETE, which).scalar_one():
                return Requested(True, None)
            submitted = self._submitter.submitted(tx, ANALYSIS.name, photo_id)
        return Requested(False, submitted.id if submitted.created else None)

    def was_called(self, task_id: UUID) -> bool:
        """Whether the task's first attempt is over."""
        with self._database.transaction() as tx:
            return bool(tx.execute(_CALLED, {"id": task_id}).scalar_one())

    def operation_url(self, photo_id: UUID, run: UUID) -> str | None:
        """Where the service wants a run to be asked for, if it said so.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return tx.execute(_OPERATION, {"id": photo_id, "run": run}).scalar_one_or_none()

    def save(self, tx: Transaction, photo_id: UUID, run: UUID, given: Answer) -> None:
        """Keep an answer, laid over what the run gave before; the photo must be locked."""
        tx.execute(
            _SAVE,
            {
                "id": photo_id,
                "run": run,
                "operation_url": given.operation_url,
                "data": json.dumps(given.data),
            },
        )
        if given.done:
            tx.execute(_FINISH, {"id": photo_id})


def run_of(task: Claimed) -> UUID:
    """Which asking an attempt belongs to: a task's, until it is requeued.

    The same for every attempt of it, whoever makes it: the `Idempotency-Key`, with nothing kept before.
    """
    return uuid5(task.id, task.begun_at.isoformat())


AS_JSON = """(
    SELECT json_build_object(
        'polls', polls, 'data', coalesce(result, '{}') || partial, 'completed_at', completed_at)
    FROM analyses WHERE photo_id = photos.id)"""
"""The SQL expression for what `analysis_of` takes, within a statement on photos."""


def analysis_of(tasks: Iterable[TaskView], row: dict[str, Any] | None) -> AnalysisView | None:
    """A photo's analysis, if it has one or had one asked for.

    Args:
        tasks: the photo's newest, of all kinds.
        row: what `AS_JSON` gave.
    """
    task = next((task for task in tasks if task.kind == ANALYSIS.name), None)
    if task is None and row is None:
        return None
    completed_at = instant(row["completed_at"]) if row else None
    live = task is not None and task.state in LIVE_STATES
    ended_well = task is None or task.state == "completed"
    complete = completed_at is not None and ended_well
    waits = task is not None and task.state in ("pending", "queued")
    return AnalysisView(
        "processing" if live else "complete" if complete else "failed",
        row["data"] if row else {},
        row["polls"] if row else 0,
        task.run_at if task and waits else None,
        completed_at,
        task.error if task and task.state != "completed" else None,
    )
