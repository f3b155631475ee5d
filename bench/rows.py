"""How fast no-op tasks are done when the table is big, beside a small one."""

from __future__ import annotations

import statistics
import time

from bench.figures import USED, fill
from bench.task_stack import Bench
from embedded import processes

_ROUNDS = 5
_WARM = 1_000
_MEASURED_S = 3.0
_DONE = """
SELECT count(*) AS n, CAST(extract(epoch FROM statement_timestamp()) AS float) AS at_s
FROM attempts WHERE outcome = 'completed'
"""


def cost_of_rows(bench: Bench, big: int) -> dict[str, float]:
    """With so many tasks and with a tenth of them, in turn; of both a tenth is pending, the others completed.

    Of the same shares, since PostgreSQL makes its plans by those.
    """
    tables = {"big": big, "small": big // 10}
    rates: dict[str, list[float]] = {name: [] for name in tables}
    for turn in range(_ROUNDS):
        for name in sorted(tables, reverse=bool(turn % 2)):
            fill(bench, USED, tables[name])
            rates[name].append(_rate(bench))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        f"noop_per_s_of_{big}_rows": medians["big"],
        f"noop_per_s_of_{big // 10}_rows": medians["small"],
        "drop_by_rows_percent": 100 * (1 - medians["big"] / medians["small"]),
    }


def _rate(bench: Bench) -> float:
    """Tasks a second; only their attempts are counted, which costs the same in both tables."""
    with bench.workers("layer"):
        assert processes.settles(lambda: _done(bench)[0] > _WARM, timeout_s=60)
        begun, begun_s = _done(bench)
        time.sleep(_MEASURED_S)
        ended, ended_s = _done(bench)
        assert bench.scalar("SELECT EXISTS (SELECT FROM tasks WHERE state = 'pending')"), "too few tasks"
    return (ended - begun) / (ended_s - begun_s)


def _done(bench: Bench) -> tuple[int, float]:
    with bench.database.transaction() as tx:
        row = tx.execute(_DONE).one()
    return row.n, row.at_s
