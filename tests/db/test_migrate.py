"""The migrations make just the schema that the code expects."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import psycopg2
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from db.migrate import configuration, upgrade
from db.tables import Xid8, metadata
from tests.servers import own_database

Result = TypeVar("Result")


@pytest.fixture
def empty_url(postgres_server: str, worker_number: int) -> Iterator[str]:
    """A database without any table."""
    name = f"migrate_{worker_number}"
    yield own_database(postgres_server, name)
    connection = psycopg2.connect(postgres_server)
    connection.autocommit = True
    connection.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")
    connection.close()


def within(url: str, action: Callable[[Connection], Result]) -> Result:
    """What `action` finds on a connection of its own."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg2"), poolclass=NullPool)
    with engine.begin() as connection:
        return action(connection)


def head() -> str | None:
    """The newest revision."""
    return ScriptDirectory.from_config(configuration()).get_current_head()


def revision(connection: Connection) -> str | None:
    """A database's revision."""
    return MigrationContext.configure(connection).get_current_revision()


def test_the_migrations_make_the_tables_that_the_code_knows(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ischema_names, "xid8", Xid8)  # SQLAlchemy doesn't know the type
    upgrade(empty_url)
    differences = within(
        empty_url,
        lambda connection: compare_metadata(
            MigrationContext.configure(connection, opts={"compare_server_default": False}), metadata
        ),
    )
    assert differences == []


def test_every_check_constraint_is_in_the_database(empty_url: str) -> None:
    upgrade(empty_url)  # alembic compares none of them
    known = {
        str(constraint.name)
        for table in metadata.tables.values()
        for constraint in table.constraints
        if type(constraint).__name__ == "CheckConstraint"
    }
    query = text(
        "SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
    )
    found = within(empty_url, lambda connection: set(connection.execute(query).scalars()))
    assert {name.split("ck_")[-1] for name in found} == {name.split("ck_")[-1] for name in known}


def test_upgrading_again_changes_nothing(empty_url: str) -> None:
    upgrade(empty_url)
    upgrade(empty_url)
    assert within(empty_url, revision) == head()


def test_the_way_down_leaves_nothing_behind(empty_url: str) -> None:
    upgrade(empty_url)

    def down(connection: Connection) -> set[str]:
        config = configuration()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        query = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return set(connection.execute(query).scalars())

    assert within(empty_url, down) == {"alembic_version"}


def test_processes_that_upgrade_at_once_wait_for_each_other(empty_url: str) -> None:
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(upgrade, [empty_url] * 4))
    assert within(empty_url, revision) == head()


def test_a_migration_that_fails_changes_nothing(empty_url: str) -> None:
    within(empty_url, lambda connection: connection.execute(text("CREATE TABLE previews (mine int)")))
    with pytest.raises(Exception, match="already exists"):
        upgrade(empty_url)
    query = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert within(empty_url, lambda connection: set(connection.execute(query).scalars())) == {"previews"}


def test_the_command_upgrades(app: Flask) -> None:
    result = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert result.exit_code == 0, result.output
