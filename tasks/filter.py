"""Which failed tasks are meant by who deals with many at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tasks.groups import MESSAGE

_MEANT = f"""
FROM tasks
WHERE state = 'failed' AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:error_type AS text) IS NULL OR error_type = :error_type)
  AND (CAST(:message AS text) IS NULL OR {MESSAGE} = :message)
  AND (CAST(:failed_before AS timestamptz) IS NULL OR finished_at < :failed_before)
  AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[])))
"""
FAILED = f"SELECT id, kind, subject {_MEANT} ORDER BY created_at DESC, id DESC LIMIT :limit"
COUNT = f"SELECT count(*) {_MEANT}"


@dataclass(frozen=True)
class Filter:
    """Which failed tasks are meant; None is any.

    Attributes:
        message: as `tasks.groups` has it.
        failed_before: the last attempt ended before that instant.
    """

    kind: str | None = None
    error_type: str | None = None
    message: str | None = None
    failed_before: datetime | None = None
    ids: tuple[UUID, ...] | None = None

    def parameters(self) -> dict[str, object]:
        """The filter as its statements take it."""
        return {**vars(self), "ids": None if self.ids is None else list(self.ids)}
