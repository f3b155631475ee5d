"""The backlog's limit: so much waits, and no more is taken in."""

from __future__ import annotations

from uuid import uuid4

import pytest

from db.session import Database
from db.transaction import DatabaseAway
from tasks import backlog
from tasks.backlog import Backlog, seconds_to_drain
from tasks.errors import BacklogFull

_FILL = """
INSERT INTO tasks (id, kind, queue, subject, state, max_attempts, queued_at, finished_at)
SELECT gen_random_uuid(), CAST(:kind AS text), :kind, gen_random_uuid(), CAST(:state AS text), 5,
    CASE WHEN :state = 'queued' THEN clock_timestamp() END,
    CASE WHEN :state = 'completed' THEN clock_timestamp() - make_interval(secs => :age_s) END
FROM generate_series(1, :tasks)
"""


@pytest.fixture(autouse=True)
def _counts_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "_FRESH_S", 0.0)


def fill(database: Database, state: str, tasks: int, *, kind: str = "preview", age_s: float = 1) -> None:
    """So many tasks in a state."""
    with database.transaction() as tx:
        tx.execute("SET LOCAL statement_timeout = '5min'")  # of a million on a slow machine
        tx.execute(_FILL, {"kind": kind, "state": state, "tasks": tasks, "age_s": age_s})


def test_what_waits_counts_until_the_limit(database: Database) -> None:
    limited = Backlog(database, ["preview", "exif"], limit=10)
    fill(database, "pending", 5)
    fill(database, "queued", 4, kind="exif")
    fill(database, "completed", 50)
    fill(database, "pending", 50, kind="analysis")
    limited.check()
    fill(database, "queued", 1)
    with pytest.raises(BacklogFull):
        limited.check()


def test_the_wait_is_what_the_excess_takes_at_the_rate_of_the_last_minute(database: Database) -> None:
    limited = Backlog(database, ["preview", "exif"], limit=100)
    fill(database, "pending", 159)
    fill(database, "completed", 120, kind="exif")  # 2 a second
    fill(database, "completed", 1000, age_s=61)
    with pytest.raises(BacklogFull) as caught:
        limited.check()
    assert caught.value.retry_after_s == 30


@pytest.mark.parametrize(
    ("excess", "rate", "seconds"), [(1, 0, 3600), (1, 50, 1), (100, 10, 10), (101, 10, 11), (10**6, 1, 3600)]
)
def test_the_wait_is_between_a_second_and_an_hour(excess: int, rate: float, seconds: int) -> None:
    assert seconds_to_drain(excess, rate) == seconds


def test_it_is_counted_once_in_its_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Backlog(database, ["preview"], limit=1)
    limited.check()
    fill(database, "pending", 1)
    monkeypatch.setattr(backlog, "_FRESH_S", 3600.0)
    limited.check()
    monkeypatch.setattr(backlog, "_FRESH_S", 0.0)
    with pytest.raises(BacklogFull):
        limited.check()


def test_while_the_database_is_away_that_is_what_is_told(tmp_path: object) -> None:
    away = Database(f"postgresql://nobody@/none?host={tmp_path}/{uuid4().hex}")
    with pytest.raises(DatabaseAway):
        Backlog(away, ["preview"], limit=1).check()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_long_backlog_in_a_table_of_two_million_is_counted_over_its_index(database: Database) -> None:
    fill(database, "completed", 1_000_000)  # first in the table
    fill(database, "pending", 500_000)
    fill(database, "pending", 500_000, kind="exif")
    with database.transaction() as tx:
        tx.execute("ANALYZE tasks")
        plan = "\n".join(
            tx.execute(
                "EXPLAIN (ANALYZE, BUFFERS) " + backlog._WAITING,
                {"kind": "preview", "most": 200_000},
            ).scalars()
        )
    took_ms = float(plan.split("Execution Time: ")[1].split(" ms")[0])
    print(f"counted 200,000 of 500,000 waiting tasks in {took_ms:.0f} ms")  # noqa: T201
    assert took_ms < 2_000
    assert "Seq Scan on tasks" not in plan, plan
