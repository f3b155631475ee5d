"""Transactions: all or nothing, and callbacks only after a commit."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError

from db import prepared
from db.prepared import Prepared
from db.session import Database
from db.transaction import DatabaseAway, run_all
from embedded.ports import any_free_port
from tasks.errors import TimeLimitReached

PLACE = "47.1234 N"
INSERT = "INSERT INTO queues (name) VALUES (:name)"


def names(database: Database) -> list[str]:
    """What is committed."""
    with database.transaction() as tx:
        return list(tx.execute("SELECT name FROM queues ORDER BY name").scalars())


def test_a_block_that_ends_is_committed(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute(INSERT, {"name": "a"})
        tx.execute(INSERT, [{"name": "b"}, {"name": "c"}])
    assert names(database) == ["a", "b", "c"]


def test_a_block_that_raises_is_rolled_back_and_calls_nobody(database: Database) -> None:
    called: list[str] = []

    def fail() -> None:
        with database.transaction() as tx:
            tx.execute(INSERT, {"name": "a"})
            tx.after_commit(lambda: called.append("a"))
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        fail()
    assert names(database) == []
    assert called == []


def test_callbacks_run_in_order_when_all_can_see_the_commit(database: Database) -> None:
    seen: list[object] = []
    with database.transaction() as tx:
        tx.execute(INSERT, {"name": "a"})
        tx.after_commit(lambda: seen.append(names(database)))
        tx.after_commit(lambda: seen.append("second"))
        assert seen == []
    assert seen == [["a"], "second"]


def test_a_callback_that_fails_is_logged_and_stops_nobody(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []

    def fail() -> None:
        raise RuntimeError("no such luck")

    with caplog.at_level(logging.WARNING), database.transaction() as tx:
        tx.execute(INSERT, {"name": "a"})
        tx.after_commit(fail)
        tx.after_commit(lambda: called.append("after it"))
    assert names(database) == ["a"]
    assert called == ["after it"]
    assert "no such luck" in caplog.text


def test_an_error_says_nothing_of_rows_and_parameters(database: Database) -> None:
    """PostgreSQL quotes rows, SQLAlchemy parameters; what is raised is logged, and kept with attempts."""

    def refused(statement: str) -> str:
        with pytest.raises(DBAPIError) as raised, database.transaction() as tx:
            tx.execute(statement, {"text": PLACE})
        return "".join(traceback.format_exception(raised.value))

    for statement in (
        "INSERT INTO queues (name) VALUES (:text), (:text)",
        "INSERT INTO events (type, subject) VALUES (:text, NULL)",
        "SELECT CAST('{\"a\": ' || CAST(:text AS text) AS jsonb)",
    ):
        text = refused(statement)
        assert "psycopg2.errors." in text
        assert statement in text.replace("%(text)s", ":text")
        assert PLACE not in text


def test_an_error_of_the_statement_is_no_outage(database: Database) -> None:
    def twice() -> None:
        with database.transaction() as tx:
            tx.execute(INSERT, [{"name": "a"}, {"name": "a"}])

    with pytest.raises(IntegrityError):
        twice()


def test_a_server_that_is_not_there_is_away() -> None:
    away = Database(f"postgresql://nobody@127.0.0.1:{any_free_port()}/none")
    with pytest.raises(DatabaseAway):
        away.check()


@pytest.fixture
def other(migrated_url: str, database: Database) -> Iterator[Database]:
    """A second pool, whose connections the test may kill."""
    other = Database(migrated_url, application_name="to-be-killed")
    yield other
    other.close()


def kill_all(database: Database) -> int:
    """End the other pool's connections, as a restart of PostgreSQL does."""
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to-be-killed'"
    with database.transaction() as tx:
        return len(tx.execute(query).all())


def test_a_connection_that_dies_in_a_transaction_is_an_outage(database: Database, other: Database) -> None:
    called: list[str] = []

    def interrupted() -> None:
        with other.transaction() as tx:
            tx.execute(INSERT, {"name": "a"})
            tx.after_commit(lambda: called.append("a"))
            assert kill_all(database) == 1

    with pytest.raises(DatabaseAway):
        interrupted()
    assert called == []
    assert names(database) == []


def test_nothing_goes_on_on_another_connection_in_the_middle_of_a_transaction(
    database: Database, other: Database
) -> None:
    insert = Prepared("insert_queue", INSERT)

    def go_on() -> None:
        with other.transaction() as tx:
            tx.execute(insert, {"name": "a"})
            kill_all(database)
            for name in ("b", "c"):
                with contextlib.suppress(DBAPIError):
                    tx.execute(insert, {"name": name})

    with pytest.raises(DatabaseAway):
        go_on()
    assert names(database) == []


def test_a_statement_that_failed_can_not_be_passed_over(database: Database) -> None:
    insert = Prepared("insert_queue", INSERT)

    def pass_over() -> None:
        with database.transaction() as tx:
            tx.execute(insert, {"name": "a"})
            with contextlib.suppress(IntegrityError):
                tx.execute(insert, {"name": "a"})

    with pytest.raises(RuntimeError, match="passed over"):
        pass_over()
    assert names(database) == []


def test_a_connection_that_died_resting_is_replaced_unnoticed(
    database: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.session._RESTED_S", 0.0)
    other.check()
    assert kill_all(database) == 1
    other.check()


def test_one_that_died_right_after_its_work_is_noticed_once(database: Database, other: Database) -> None:
    other.check()
    assert kill_all(database) == 1
    with pytest.raises(DatabaseAway):
        other.check()
    other.check()


def plans(database: Database) -> int:
    """How many statements the connection that is used next has plans of."""
    with database.statement() as tx:
        return int(tx.execute("SELECT count(*) FROM pg_prepared_statements").scalar_one())


def test_a_prepared_statement_is_planned_once_for_each_connection(
    database: Database, other: Database
) -> None:
    double = Prepared(
        "double",
        "SELECT CAST(:number AS int) * 2 AS double, :number AS same, CAST(:name AS text) AS name",
    )
    for number in (1, 2):
        with other.transaction() as tx:
            row = tx.execute(double, {"number": number, "name": "it's :number"}).one()
        assert (row.double, row.same, row.name) == (2 * number, number, "it's :number")
        assert plans(other) == 1
    kill_all(database)
    with pytest.raises(DatabaseAway):
        other.check()
    with other.statement() as tx:  # on a new connection
        assert tx.execute(double, {"number": 3, "name": None}).one().double == 6


def test_a_plan_stays_when_its_transaction_does_not(other: Database) -> None:
    one = Prepared("one", "SELECT CAST(:number AS int)")

    def fail() -> None:
        with other.transaction() as tx:
            tx.execute(one, {"number": 1})
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert plans(other) == 1
    with other.transaction() as tx:
        assert tx.execute(one, {"number": 2}).scalar_one() == 2


def test_a_plan_that_a_time_limit_cut_off_hinders_nobody(
    other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.check()  # SQLAlchemy asks a few things first
    one, run = Prepared("one", "SELECT CAST(:number AS int)"), prepared.run

    def run_and_be_interrupted(*args: Any) -> None:
        run(*args)
        raise TimeLimitReached

    monkeypatch.setattr(prepared, "run", run_and_be_interrupted)
    with pytest.raises(TimeLimitReached), other.statement() as tx:
        tx.execute(one, {"number": 1})
    monkeypatch.undo()
    assert plans(other) == 1
    with other.statement() as tx:
        assert tx.execute(one, {"number": 2}).scalar_one() == 2


def test_a_plan_that_is_kept_from_when_a_table_was_small_goes_by_the_index(other: Database) -> None:
    find = Prepared("find", "SELECT count(*) FROM queues WHERE name = :name")
    with other.statement() as tx:
        tx.execute(INSERT, {"name": "a"})
        tx.execute("VACUUM ANALYZE queues")
        for _ in range(10):  # after five of its own PostgreSQL may keep one plan for all values
            tx.execute(find, {"name": "a"})
        (name,) = tx.execute("SELECT name FROM pg_prepared_statements").scalars()
        plan = "\n".join(tx.execute(f"EXPLAIN EXECUTE {name}('a')").scalars())
    assert "$1" in plan  # it was kept
    assert "Seq Scan" not in plan


def test_behind_a_pooler_nothing_is_prepared(migrated_url: str) -> None:
    database = Database(migrated_url, prepares=False)
    with database.statement() as tx:
        assert tx.execute(Prepared("one", "SELECT CAST(:number AS int)"), {"number": 1}).scalar_one() == 1
    assert plans(database) == 0
    database.close()


def test_all_connections_taken_is_an_outage_and_no_endless_wait(
    migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.session.POOL_TIMEOUT_S", 0.1)
    small = Database(migrated_url, pool_size=1)
    try:
        with small.transaction(), small.transaction(), pytest.raises(DatabaseAway):
            small.check()
        small.check()
    finally:
        small.close()


def test_instants_are_in_utc(database: Database) -> None:
    with database.transaction() as tx:
        assert tx.execute("SHOW timezone").scalar_one() == "UTC"
        now = tx.execute("SELECT clock_timestamp()").scalar_one()
    assert now.utcoffset().total_seconds() == 0


_INSERT = Prepared("insert_queue", INSERT)
_COUNT = Prepared("count_queues", "SELECT count(*) FROM queues WHERE name >= :name")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What went past SQLAlchemy: a list of statements a round trip."""
    run, sent = prepared.run, []

    def note(connection: Connection, statements: Sequence[prepared.Statement]) -> Any:
        sent.append([sql.split("_")[0].split("(")[0] for sql, _ in statements])
        return run(connection, statements)

    monkeypatch.setattr(prepared, "run", note)
    return sent


def test_what_is_deferred_goes_with_the_next_statement_in_order(
    other: Database, sent: list[list[str]]
) -> None:
    for name in ("a%s", "b"):
        with other.transaction() as tx:
            tx.defer(_INSERT, {"name": name})
            assert tx.execute(_COUNT, {"name": ""}).scalar_one() == (1 if name == "a%s" else 2)
    assert sent[-2:] == [["BEGIN", "EXECUTE insert", "EXECUTE count"], ["COMMIT"]]
    assert names(other) == ["a%s", "b"]


def test_what_is_deferred_last_goes_with_the_commit(other: Database, sent: list[list[str]]) -> None:
    for name in ("a", "b"):
        with other.transaction() as tx:
            tx.defer(_INSERT, {"name": name})
    assert sent[-1] == ["BEGIN", "EXECUTE insert", "COMMIT"]
    assert names(other) == ["a", "b"]


def test_nothing_that_is_deferred_is_lost_while_a_connection_learns_its_statements(other: Database) -> None:
    with other.transaction() as tx:
        tx.defer(_INSERT, {"name": "a"})
        tx.defer(Prepared("insert_too", INSERT), {"name": "b"})
        tx.execute(Prepared("insert_at_once", INSERT), {"name": "c"})
        tx.defer(Prepared("insert_late", INSERT), {"name": "d"})
        assert list(tx.execute("SELECT name FROM queues ORDER BY name").scalars()) == ["a", "b", "c", "d"]
    assert names(other) == ["a", "b", "c", "d"]


def test_what_is_deferred_and_fails_rolls_all_back(other: Database) -> None:
    def twice() -> None:
        with other.transaction() as tx:
            tx.execute(_INSERT, {"name": "a"})
            tx.defer(_INSERT, {"name": "a"})

    for _ in range(2):  # when the connection knows the statement, too
        with pytest.raises(IntegrityError):
            twice()
    assert names(other) == []


def test_a_block_that_raises_sends_nothing_that_is_deferred(other: Database) -> None:
    def fail() -> None:
        with other.transaction() as tx:
            tx.defer(_INSERT, {"name": "a"})
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert names(other) == []


def test_where_each_statement_is_committed_or_nothing_prepared_nothing_is_deferred(
    other: Database, migrated_url: str
) -> None:
    with other.statement() as tx:
        tx.defer(_INSERT, {"name": "a"})
        assert names(other) == ["a"]
    plain = Database(migrated_url, prepares=False)
    with plain.transaction() as tx:
        tx.defer(_INSERT, {"name": "b"})
        assert tx.execute(_COUNT, {"name": ""}).scalar_one() == 2
    plain.close()
    assert names(other) == ["a", "b"]


def test_callbacks_that_are_collected_are_their_callers_to_run(database: Database) -> None:
    seen: list[str] = []
    with database.transaction() as tx:
        tx.after_commit(lambda: seen.append("first"))
        with tx.callbacks() as callbacks:
            tx.after_commit(lambda: seen.append("collected"))
        tx.after_commit(lambda: seen.append("last"))
    assert seen == ["first", "last"]
    run_all(callbacks)
    assert seen == ["first", "last", "collected"]


def test_a_shorter_wait_for_locks_is_one_transactions_own(database: Database, other: Database) -> None:
    lock = Prepared("lock_queue", "SELECT name FROM queues WHERE name = :name FOR UPDATE")
    with database.transaction() as tx:
        tx.execute(INSERT, {"name": "a"})
    with other.statement() as tx:
        before = tx.execute("SHOW lock_timeout").scalar_one()
    with database.transaction() as tx:
        tx.execute("SELECT FROM queues FOR UPDATE")
        for block in (other.transaction, other.statement):
            begun_s = time.monotonic()
            with pytest.raises(DatabaseAway, match="lock timeout"), block(lock_timeout_s=0.1) as waiting:
                waiting.execute(lock, {"name": "a"})
            assert time.monotonic() - begun_s < 3
    with other.statement(lock_timeout_s=0.1) as tx:
        assert tx.execute(lock, {"name": "a"}).scalar_one() == "a"
        assert tx.execute("SHOW lock_timeout").scalar_one() == before


def test_what_can_not_be_sent_can_not_be_passed_over_either(other: Database) -> None:
    def pass_over() -> None:
        with other.transaction() as tx:
            with contextlib.suppress(ValueError):
                tx.execute(_COUNT, {"name": "a nul: \0"})
            tx.execute(_INSERT, {"name": "a"})

    for _ in range(2):  # when the connection knows the statement, too
        with pytest.raises(RuntimeError, match="passed over"):
            pass_over()
    assert names(other) == []
