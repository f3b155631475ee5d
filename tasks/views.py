"""Tasks as others see them: frozen views, never live rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from db.prepared import Prepared
from db.transaction import Transaction


@dataclass(frozen=True)
class ErrorView:
    """What went wrong last; `type` is of a closed set, `detail` is for a person."""

    type: str
    detail: str


@dataclass(frozen=True)
class TaskView:
    """One task as the API shows it."""

    id: UUID
    kind: str
    subject: UUID
    state: str
    attempts: int
    max_attempts: int
    run_at: datetime
    error: ErrorView | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    trace_id: str | None


@dataclass(frozen=True)
class AttemptView:
    """One attempt; `outcome` is None while it lasts."""

    number: int
    worker: str
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    error_type: str | None
    error_detail: str | None
    traceback: str | None


_COLUMNS = """id, kind, subject, state, attempts, max_attempts, run_at, error_type, error_detail,
       created_at, started_at, finished_at, trace_id"""


def newest_of(subject: str) -> str:
    """The SQL for the newest task of each kind; a discarded one counts for nothing.

    Args:
        subject: how SQL names the subject's id there.
    """
    return f"""
SELECT DISTINCT ON (kind) {_COLUMNS}
FROM tasks WHERE subject = {subject} AND state <> 'discarded'
ORDER BY kind, created_at DESC, id DESC
"""


_NEWEST = Prepared("newest_tasks", newest_of(":subject"))
_ONE = f"SELECT {_COLUMNS} FROM tasks WHERE id = :id"
_SOME = f"SELECT {_COLUMNS} FROM tasks WHERE id = ANY(:ids) ORDER BY created_at DESC, id DESC"
_ALL = f"SELECT {_COLUMNS} FROM tasks WHERE subject = :subject ORDER BY created_at, id"
_FIND = f"""
SELECT {_COLUMNS} FROM tasks
WHERE state = :state AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:error_type AS text) IS NULL OR error_type = :error_type)
ORDER BY created_at DESC, id DESC LIMIT :limit
"""
_ATTEMPTS = """
SELECT number, worker, started_at, finished_at, outcome, error_type, error_detail, traceback
FROM attempts WHERE task_id = :id ORDER BY token
"""


def newest(tx: Transaction, subject: UUID) -> list[TaskView]:
    """The newest task of each kind for a subject; a discarded one counts for nothing."""
    return _views(tx.execute(_NEWEST, {"subject": subject}))


def newest_as_json(subject: str) -> str:
    """The SQL expression for what `from_json` takes, within a statement on subjects.

    Args:
        subject: the SQL name of a subject's id there.
    """
    return f"(SELECT coalesce(json_agg(newest), '[]') FROM ({newest_of(subject)}) AS newest)"


def from_json(tasks: Iterable[dict[str, Any]]) -> list[TaskView]:
    """The views of what `newest_as_json` gave."""
    return [
        _view(
            {
                **task,
                "id": UUID(task["id"]),
                "subject": UUID(task["subject"]),
                **{name: instant(task[name]) for name in _INSTANTS},
            }
        )
        for task in tasks
    ]


_INSTANTS = ("run_at", "created_at", "started_at", "finished_at")


def instant(text: str | None) -> datetime | None:
    """An instant as PostgreSQL writes it into JSON."""
    return datetime.fromisoformat(text) if text else None


def of_subject(tx: Transaction, subject: UUID) -> list[TaskView]:
    """Every task of one subject that is still kept, the oldest first."""
    return _views(tx.execute(_ALL, {"subject": subject}))


def of_ids(tx: Transaction, ids: Sequence[UUID]) -> list[TaskView]:
    """Those of the given tasks that are there, the newest first."""
    return _views(tx.execute(_SOME, {"ids": list(ids)}))


def get(tx: Transaction, task_id: UUID) -> TaskView | None:
    """One task, if it is there."""
    return next(iter(_views(tx.execute(_ONE, {"id": task_id}))), None)


def find(
    tx: Transaction, *, state: str, kind: str | None = None, error_type: str | None = None, limit: int
) -> list[TaskView]:
    """Tasks in a state, the newest first; None for kind or error type is any."""
    which = {"state": state, "kind": kind, "error_type": error_type, "limit": limit}
    return _views(tx.execute(_FIND, which))


def attempts(tx: Transaction, task_id: UUID) -> list[AttemptView]:
    """All attempts of a task, the first first."""
    return [AttemptView(**row._asdict()) for row in tx.execute(_ATTEMPTS, {"id": task_id})]


def _views(rows: Iterable[Row[Any]]) -> list[TaskView]:
    return [_view(row._asdict()) for row in rows]


def _view(values: dict[str, Any]) -> TaskView:
    error_type, detail = values.pop("error_type"), values.pop("error_detail")
    return TaskView(**values, error=ErrorView(error_type, detail or "") if error_type else None)
