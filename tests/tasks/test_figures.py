"""The queues' figures are right, and don't cost more as finished tasks pile up."""

from __future__ import annotations

import re

import pytest

from bench.figures import MIXED
from db.session import Database
from tasks import figures
from tests.tasks.layer import JOIN, SLOW, Layer


def test_tasks_are_counted_by_kind_and_state(layer: Layer, database: Database) -> None:
    for _ in range(3):
        layer.submit(JOIN)
    layer.submit(SLOW)
    layer.queues.set_paused(SLOW.name, True)
    with database.transaction() as tx:
        tx.execute("UPDATE tasks SET run_at = run_at - interval '1 minute' WHERE kind = 'join'")
        tx.execute(
            "UPDATE tasks SET state = 'failed', queued_at = NULL, finished_at = now(), error_type = 'broken' "
            "WHERE id = (SELECT id FROM tasks WHERE kind = 'join' LIMIT 1)"
        )
        tx.execute("UPDATE tasks SET run_at = now() + interval '1 hour' WHERE kind = 'slow'")
        found = figures.figures(tx)
    assert dict(found.depth) == {("join", "queued"): 2, ("slow", "pending"): 1, ("join", "failed"): 1}
    assert dict(found.dead_letters) == {("join", "broken"): 1}
    assert found.paused == {"slow"}
    assert found.busy_slots == 0
    assert set(found.oldest_age_s) == {"join"}  # what is due later doesn't wait
    assert 60 <= found.oldest_age_s["join"] < 120


@pytest.mark.parametrize(
    "statement", [figures._PENDING, figures._QUEUED, figures._PROCESSING, figures._FAILED]
)
def test_counting_reads_no_completed_task(database: Database, statement: str) -> None:
    with database.statement() as tx:
        tx.execute(MIXED, {"count": 20_000})
        tx.execute("VACUUM ANALYZE tasks")
        plan = "\n".join(tx.execute(f"EXPLAIN {statement}").scalars())
    # each of these holds only tasks of a few states
    assert re.search(r"ix_tasks_(due|queued|leased|failed)|uq_tasks_live", plan), plan
    assert "Seq Scan" not in plan
