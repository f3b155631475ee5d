"""What was finished lately is told by partial indexes alone, however much there is beside it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from bench.figures import MIXED
from db.session import Database
from tasks import history
from tests.tasks.layer import JOIN, SLOW, Layer

# A task that ran for `:ran_s` and ended so many seconds before the step that goes on now.
_ENDED = f"""
INSERT INTO tasks (id, kind, queue, subject, state, max_attempts, started_at, finished_at, error_type)
SELECT gen_random_uuid(), :kind, :kind, gen_random_uuid(), :state, 5, ended - make_interval(secs => :ran_s),
    ended, CASE WHEN :state = 'failed' THEN 'broken' END
FROM (SELECT ({history._END}) - make_interval(secs => :before_s) AS ended) AS given
"""


def ended(
    layer: Layer, before_s: float, *, kind: str = "join", state: str = "completed", ran_s: float = 1
) -> None:
    """One more task that has ended."""
    given = {"kind": kind, "state": state, "before_s": before_s, "ran_s": ran_s}
    layer.do(_ENDED, **given, step_s=history.STEP_S)


def test_each_step_has_what_was_finished_in_it(layer: Layer, database: Database) -> None:
    for before_s, ran_s in ((1, 1), (14, 3), (15, 2), (16, 5), (900, 7), (901, 9)):
        ended(layer, before_s, ran_s=ran_s)
    ended(layer, 20, state="failed")
    ended(layer, 20, state="cancelled")
    ended(layer, -1)  # in the step that isn't over
    with database.transaction() as tx:
        now = tx.execute("SELECT clock_timestamp()").scalar_one()
        view = history.lately(tx, ["join", "slow"])
    join, slow = view.queues
    assert list(join.completed) == [1, *[0] * 57, 1, 3]
    assert list(join.failed) == [*[0] * 58, 1, 0]
    assert join.run_p95_s[0] == 7
    assert join.run_p95_s[1:58] == [None] * 57
    assert join.run_p95_s[58] == 5
    assert join.run_p95_s[59] == pytest.approx(2.9)
    assert (sum(slow.completed), set(slow.run_p95_s)) == (0, {None})
    assert now - timedelta(seconds=916) < view.begun_at <= now - timedelta(seconds=900)


def test_however_often_it_is_asked_for_it_is_read_once_in_a_while(layer: Layer, database: Database) -> None:
    lately = history.History(database, [JOIN.name, SLOW.name])
    first = lately.lately()
    ended(layer, 20)
    assert lately.lately() is first


@pytest.mark.parametrize("statement", [history._COMPLETED, history._FAILED])
def test_looking_back_reads_no_older_task(database: Database, statement: str) -> None:
    with database.statement() as tx:
        tx.execute(MIXED, {"count": 20_000})
        tx.execute(
            "UPDATE tasks SET finished_at = now() - interval '1 day'"
            " WHERE random() < 0.98 AND finished_at IS NOT NULL"
        )
        tx.execute("VACUUM ANALYZE tasks")
        end = tx.execute(history._END, {"step_s": history.STEP_S}).scalar_one()
        window = {"step_s": history.STEP_S, "begun_at": end - timedelta(minutes=15), "end": end}
        plan = "\n".join(tx.execute(f"EXPLAIN {statement}", window).scalars())
    assert re.search(r"ix_tasks_(prunable|failed)", plan), plan
    assert "Seq Scan" not in plan


def test_tasks_that_failed_alike_are_found_by_an_index(database: Database) -> None:
    with database.statement() as tx:
        tx.execute(MIXED, {"count": 20_000})
        tx.execute("VACUUM ANALYZE tasks")
        query = (
            "SELECT id FROM tasks WHERE error_type = :error_type ORDER BY created_at DESC, id DESC LIMIT 51"
        )
        for error_type in ("broken", "never-seen"):
            plan = "\n".join(tx.execute(f"EXPLAIN {query}", {"error_type": error_type}).scalars())
            assert "ix_tasks_error" in plan, plan
