"""What the queues have finished lately, one step of time after another: what a chart shows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row

from db.session import Database
from db.transaction import Transaction
from observability.reading import Reading

STEP_S = 15
STEPS = 60
# However many look, and however often.
_KEEP_S = 5.0

# Steps are those of the clock, so that a step's figures stay as time goes on. Each half over a partial index.
_STEP = "date_bin(make_interval(secs => :step_s), {instant}, timestamptz 'epoch')"
_END = f"SELECT {_STEP.format(instant='clock_timestamp()')}"
_COMPLETED = f"""
SELECT kind, {_STEP.format(instant="finished_at")} AS step, count(*) AS tasks,
    extract(epoch FROM percentile_cont(0.95) WITHIN GROUP (ORDER BY finished_at - started_at))::float8
        AS run_p95_s
FROM tasks
WHERE state = 'completed' AND finished_at >= :begun_at AND finished_at < :end
GROUP BY kind, step
"""
_FAILED = f"""
SELECT kind, {_STEP.format(instant="finished_at")} AS step, count(*) AS tasks
FROM tasks
WHERE state = 'failed' AND finished_at >= :begun_at AND finished_at < :end
GROUP BY kind, step
"""


@dataclass(frozen=True)
class Lately:
    """One queue; a value for each step, the oldest first. `run_p95_s` is None where nothing was completed."""

    name: str
    completed: Sequence[int]
    failed: Sequence[int]
    run_p95_s: Sequence[float | None]


@dataclass(frozen=True)
class HistoryView:
    """All queues; the first step began at `begun_at`, the last one is over."""

    begun_at: datetime
    step_s: int
    queues: Sequence[Lately]


class History:
    """Looks back over `STEPS` steps of `STEP_S` seconds, at most once in 5 s in a process."""

    def __init__(self, database: Database, kinds: Iterable[str]) -> None:
        self._database = database
        self._kinds = tuple(kinds)
        self._reading = Reading(self._read, keep_s=_KEEP_S)

    def lately(self) -> HistoryView:
        """What was finished in the last quarter of an hour.

        Raises:
            DatabaseAway
        """
        return self._reading.start().result()[1]

    def _read(self) -> HistoryView:
        with self._database.transaction() as tx:
            return lately(tx, self._kinds)


def lately(tx: Transaction, kinds: Iterable[str]) -> HistoryView:
    """Read it, whatever was read before."""
    end = tx.execute(_END, {"step_s": STEP_S}).scalar_one()
    steps = [end - timedelta(seconds=STEP_S * back) for back in range(STEPS, 0, -1)]
    window = {"step_s": STEP_S, "begun_at": steps[0], "end": end}
    completed = {(row.kind, row.step): row for row in tx.execute(_COMPLETED, window)}
    failed = {(row.kind, row.step): row for row in tx.execute(_FAILED, window)}

    def of(kind: str) -> Lately:
        done = [completed.get((kind, step)) for step in steps]
        return Lately(
            kind,
            [_tasks(row) for row in done],
            [_tasks(failed.get((kind, step))) for step in steps],
            [None if row is None else row.run_p95_s for row in done],
        )

    return HistoryView(steps[0], STEP_S, [of(kind) for kind in kinds])


def _tasks(row: Row[Any] | None) -> int:
    return 0 if row is None else row.tasks
