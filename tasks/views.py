"""Tasks as others see them: frozen views, never live rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.session import Transaction


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


_OF_SUBJECTS = """
SELECT DISTINCT ON (subject, kind)
       id, kind, subject, state, attempts, max_attempts, run_at, error_type, error_detail,
       created_at, started_at, finished_at
FROM tasks WHERE subject = ANY(:subjects)
ORDER BY subject, kind, created_at DESC, id DESC
"""


def newest(tx: Transaction, subjects: Sequence[UUID]) -> list[TaskView]:
    """The newest task of each kind, for each subject."""
    rows = tx.execute(_OF_SUBJECTS, {"subjects": list(subjects)})
    views = []
    for row in rows:
        values = dict(row._mapping)
        error_type, detail = values.pop("error_type"), values.pop("error_detail")
        views.append(TaskView(**values, error=ErrorView(error_type, detail or "") if error_type else None))
    return views
