"""Transactions: all or nothing, and callbacks only after a commit."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError

from db.session import Database, DatabaseAway
from embedded.ports import any_free_port

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


def test_a_connection_that_died_in_the_pool_is_replaced_unnoticed(
    database: Database, other: Database
) -> None:
    other.check()
    assert kill_all(database) == 1
    other.check()


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
