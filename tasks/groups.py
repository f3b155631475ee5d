"""Dead letters in groups: what failed alike is one line for whoever looks, whatever numbers its text has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.transaction import Transaction

# What differs between failures of one cause: ids, addresses, hashes; and then any number.
_ID = (
    "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|\m0x[0-9a-fA-F]+\M|\m[0-9a-fA-F]{12,}\M"
)
_NUMBER = "[0-9]+([.,_][0-9]+)*"
# A failed task's message, as the groups have it: an SQL expression over `tasks`.
MESSAGE = (
    "regexp_replace(regexp_replace("
    f"left(coalesce(error_detail, ''), 300), '{_ID}', '#', 'g'), '{_NUMBER}', '#', 'g')"
)
_GROUPS = f"""
SELECT kind, error_type, {MESSAGE} AS message, count(*) AS count,
       min(finished_at) AS first_seen_at, max(finished_at) AS last_seen_at,
       (array_agg(id ORDER BY finished_at DESC, id))[1] AS task_id,
       (array_agg(subject ORDER BY finished_at DESC, id))[1] AS subject
FROM tasks
WHERE state = 'failed' AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:error_type AS text) IS NULL OR error_type = :error_type)
GROUP BY kind, error_type, message
ORDER BY count DESC, last_seen_at DESC, kind, message
LIMIT :limit
"""


@dataclass(frozen=True)
class Group:
    """Failed tasks of one kind, type of error and message; `task_id` and `subject` are of the newest.

    `message` is the first 300 characters of their details, with `#` for each id and number.
    """

    kind: str
    error_type: str
    message: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime
    task_id: UUID
    subject: UUID


def groups(tx: Transaction, *, kind: str | None, error_type: str | None, limit: int) -> list[Group]:
    """The dead letters' groups, the largest first; None is any."""
    meant = {"kind": kind, "error_type": error_type, "limit": limit}
    return [Group(**row._asdict()) for row in tx.execute(_GROUPS, meant)]
