"""The queues in figures: how much waits, how long, and what failed."""

from __future__ import annotations

from dataclasses import dataclass

from db.session import Transaction

DEPTH_STATES = ("pending", "queued", "processing", "failed")

_DEPTH = """
SELECT kind, state, count(*) AS tasks FROM tasks
WHERE state IN ('pending', 'queued', 'processing', 'failed') GROUP BY kind, state
"""
# A task waits from when it is due; one in backoff or snoozed doesn't.
_OLDEST = """
SELECT kind, extract(epoch FROM max(statement_timestamp() - run_at))::float8 AS age_s FROM tasks
WHERE state IN ('pending', 'queued') AND run_at <= statement_timestamp() GROUP BY kind
"""
_DEAD = (
    "SELECT kind, error_type, count(*) AS tasks FROM tasks WHERE state = 'failed' GROUP BY kind, error_type"
)
_PAUSED = "SELECT name FROM queues WHERE paused"


@dataclass(frozen=True)
class Figures:
    """The state of all queues at one moment; what isn't there is 0."""

    depth: dict[tuple[str, str], int]
    oldest_age_s: dict[str, float]
    dead_letters: dict[tuple[str, str], int]
    paused: frozenset[str]

    @property
    def processing(self) -> int:
        """Tasks in hand, of all kinds."""
        return sum(count for (_, state), count in self.depth.items() if state == "processing")


def figures(tx: Transaction) -> Figures:
    """Count everything, in four statements over partial indexes."""
    return Figures(
        depth={(row.kind, row.state): row.tasks for row in tx.execute(_DEPTH)},
        oldest_age_s={row.kind: row.age_s for row in tx.execute(_OLDEST)},
        dead_letters={(row.kind, row.error_type): row.tasks for row in tx.execute(_DEAD)},
        paused=frozenset(tx.execute(_PAUSED).scalars()),
    )
