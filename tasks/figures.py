"""The queues in figures: how much waits, how long, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from db.transaction import Transaction

DEPTH_STATES = ("pending", "queued", "processing", "failed")

# Each over one of the partial indexes, the first and the last without a look at the table (where vacuum
# was); a queue's name is its kind's.
# A task waits from when it is due; one in backoff or snoozed doesn't.
_PENDING = """
SELECT queue AS kind, count(*) AS tasks,
    extract(epoch FROM statement_timestamp() - min(run_at))::float8 AS age_s
FROM tasks WHERE state = 'pending' GROUP BY queue
"""
_QUEUED = _PENDING.replace("'pending'", "'queued'")
# What never had a message of its own was taken along by another, in the same slot.
_PROCESSING = """
SELECT kind, count(*) AS tasks, count(*) FILTER (WHERE dispatch > 0) AS slots
FROM tasks WHERE state = 'processing' GROUP BY kind
"""
_FAILED = (
    "SELECT kind, error_type, count(*) AS tasks FROM tasks WHERE state = 'failed' GROUP BY kind, error_type"
)
_PAUSED = "SELECT name FROM queues WHERE paused"


@dataclass(frozen=True)
class Figures:
    """The state of all queues at one moment; what isn't there is 0."""

    depth: Mapping[tuple[str, str], int]
    oldest_age_s: Mapping[str, float]
    dead_letters: Mapping[tuple[str, str], int]
    paused: frozenset[str]
    busy_slots: int
    """Of all workers: a task that was taken along is in its leader's."""


def figures(tx: Transaction) -> Figures:
    """Count everything, in five statements over partial indexes."""
    depth: Counter[tuple[str, str]] = Counter()
    oldest_age_s: dict[str, float] = {}
    for state, statement in (("pending", _PENDING), ("queued", _QUEUED)):
        for row in tx.execute(statement):
            depth[row.kind, state] = row.tasks
            if row.age_s > 0:
                oldest_age_s[row.kind] = max(row.age_s, oldest_age_s.get(row.kind, 0.0))
    busy_slots = 0
    for row in tx.execute(_PROCESSING):
        depth[row.kind, "processing"] = row.tasks
        busy_slots += row.slots
    dead_letters = {(row.kind, row.error_type): row.tasks for row in tx.execute(_FAILED)}
    for (kind, _), count in dead_letters.items():
        depth[kind, "failed"] += count
    paused = frozenset(tx.execute(_PAUSED).scalars())
    return Figures(depth, oldest_age_s, dead_letters, paused, busy_slots)
