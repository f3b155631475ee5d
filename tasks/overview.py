"""The queues and the workers at one moment, for whoever operates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

import redis

from db.session import Database
from db.transaction import Transaction
from observability.presence import Process, processes
from tasks.figures import DEPTH_STATES, figures

# What is counted to tell how fast a queue is worked off.
RECENT_S = 60

_SWITCHES = "SELECT name, paused, rate_per_s FROM queues"
_RECENT = """
SELECT kind, count(*) / CAST(:recent_s AS float8) AS completed_per_s,
       percentile_cont(0.95) WITHIN GROUP (
           ORDER BY extract(epoch FROM finished_at - started_at)::float8) AS run_p95_s
FROM tasks
WHERE state = 'completed' AND finished_at > statement_timestamp() - make_interval(secs => :recent_s)
GROUP BY kind
"""
_IN_HAND = """
SELECT id, kind, subject, worker, started_at,
    extract(epoch FROM statement_timestamp() - started_at)::float8 AS running_s
FROM tasks WHERE state = 'processing' ORDER BY started_at
"""


@dataclass(frozen=True)
class QueueView:
    """One queue.

    Attributes:
        rate_per_s: tasks that the relay publishes at most, None without a bound.
        depth: tasks by state.
        oldest_age_s: how long the oldest due task has waited.
        completed_per_s, run_p95_s: over the last `RECENT_S` seconds; None if nothing was completed.
        away_for: worker processes that put its tasks off, because what they need is away; None while
            Redis is away.
    """

    name: str
    paused: bool
    rate_per_s: float | None
    depth: Mapping[str, int]
    oldest_age_s: float
    completed_per_s: float
    run_p95_s: float | None
    away_for: int | None


@dataclass(frozen=True)
class InHand:
    """A task that is being processed, for `running_s` seconds by PostgreSQL's clock."""

    id: UUID
    kind: str
    subject: UUID
    started_at: datetime
    running_s: float


@dataclass(frozen=True)
class WorkerView:
    """A worker process, by its own word (in Redis) or by the tasks that it holds.

    Attributes:
        alive: whether it announces itself; None while Redis is away.
        slots: tasks that it can process at once, as far as that is known.
    """

    name: str
    alive: bool | None
    slots: int | None
    tasks: tuple[InHand, ...]


class Overview:
    """Looks at all queues and all workers."""

    def __init__(self, database: Database, client: redis.Redis, kinds: Iterable[str]) -> None:
        self._database = database
        self._client = client
        self._kinds = tuple(kinds)

    def queues(self) -> list[QueueView]:
        """Every queue, in the order of the kinds.

        Raises:
            DatabaseAway
        """
        workers = self._workers()
        away = None if workers is None else Counter(name for found in workers for name in found.away)
        with self._database.transaction() as tx:
            return _queues(tx, self._kinds, away)

    def workers(self) -> list[WorkerView]:
        """Every worker process that is alive or has a task in hand, by name.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            held: dict[str, list[InHand]] = {}
            for row in tx.execute(_IN_HAND):
                values = row._asdict()
                held.setdefault(values.pop("worker"), []).append(InHand(**values))
        workers = self._workers()
        slots = None if workers is None else {found.name: found.slots for found in workers}
        return [
            WorkerView(
                name,
                None if slots is None else name in slots,
                None if slots is None else slots.get(name),
                tuple(held.get(name, ())),
            )
            for name in sorted({*held, *(slots or ())})
        ]

    def processes(self) -> list[Process] | None:
        """Every live process, by name; None while Redis, where they say so, is away."""
        try:
            return processes(self._client)
        except redis.RedisError:
            return None

    def now(self) -> datetime:
        """PostgreSQL's clock, which all times of tasks and of the relay are of.

        Raises:
            DatabaseAway
        """
        with self._database.statement() as tx:
            return cast(datetime, tx.execute("SELECT clock_timestamp()").scalar_one())

    def _workers(self) -> list[Process] | None:
        found = self.processes()
        return None if found is None else [process for process in found if process.role == "worker"]


def _queues(tx: Transaction, kinds: Iterable[str], away: Counter[str] | None) -> list[QueueView]:
    now = figures(tx)
    switches = {row.name: row for row in tx.execute(_SWITCHES)}
    recent = {row.kind: row for row in tx.execute(_RECENT, {"recent_s": RECENT_S})}
    return [
        QueueView(
            kind,
            kind in switches and switches[kind].paused,
            switches[kind].rate_per_s if kind in switches else None,
            {state: now.depth.get((kind, state), 0) for state in DEPTH_STATES},
            now.oldest_age_s.get(kind, 0.0),
            recent[kind].completed_per_s if kind in recent else 0.0,
            recent[kind].run_p95_s if kind in recent else None,
            None if away is None else away[kind],
        )
        for kind in kinds
    ]
