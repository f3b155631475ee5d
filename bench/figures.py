"""What a scrape of the queues' figures costs PostgreSQL when the table is big."""

from __future__ import annotations

import statistics
import time

from bench.task_stack import Bench
from tasks import figures

_FILL = """
INSERT INTO tasks (id, kind, queue, subject, state, run_at, max_attempts, finished_at, error_type, queued_at,
    lease_until)
SELECT gen_random_uuid(), 'noop', 'noop', gen_random_uuid(), state, now() - interval '1 minute', 5,
    CASE WHEN state IN ('completed', 'failed') THEN now() END, CASE WHEN state = 'failed' THEN 'broken' END,
    CASE WHEN state = 'queued' THEN now() END, CASE WHEN state = 'processing' THEN now() END
FROM generate_series(1, :count) AS n, LATERAL (SELECT {state}) AS of_row (state)
"""
_FEW = """
CASE WHEN n % 1000 = 0 THEN 'processing' WHEN n % 500 = 1 THEN 'queued' WHEN n % 100 = 2 THEN 'failed'
    ELSE {others} END
"""
_TENTH = "CASE WHEN n % 10 = 3 THEN 'pending' ELSE 'completed' END"
# Most tasks completed, as in a table in use; MIXED has some in each other state.
MIXED = _FILL.format(state=_FEW.format(others=_TENTH))
MOST_PENDING = _FILL.format(state=_FEW.format(others="'pending'"))
USED = _FILL.format(state=_TENTH)


def cost_of_a_scrape(bench: Bench) -> dict[str, float]:
    """Reading the queues' figures with 1,000,000 tasks, a tenth of them pending; then nearly all."""
    costs_ms = {}
    for name, tasks in (("mixed", MIXED), ("pending", MOST_PENDING)):
        fill(bench, tasks, 1_000_000)
        times_s = []
        for _ in range(9):
            begun_s = time.monotonic()
            with bench.database.transaction() as tx:
                figures.figures(tx)
            times_s.append(time.monotonic() - begun_s)
        costs_ms[f"figures_of_1000000_{name}_ms"] = statistics.median(times_s) * 1000
    return costs_ms


def fill(bench: Bench, tasks: str, count: int) -> None:
    """Have so many tasks (MIXED, say) and no others, vacuumed and on disk."""
    bench.clear()
    with bench.patient.statement() as tx:
        tx.execute(tasks, {"count": count})
        tx.execute("VACUUM ANALYZE tasks")
        tx.execute("CHECKPOINT")
