"""All rows of a database as files, and back: `pg_dump`'s work, without a program of the server's version."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2 import sql
from psycopg2.errors import QueryCanceled
from sqlalchemy import Connection, create_engine, exists, literal, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.pool import NullPool

from db.migrate import begin_at
from db.tables import metadata, sessions, sign_in_links
from db.transaction import DatabaseAway

# Who is signed in doesn't stay so in another database.
_LEFT_OUT = (sessions.name, sign_in_links.name)
_COLUMNS = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = :table AND is_generated = 'NEVER'
ORDER BY ordinal_position
"""
_NEXT_EVENT = "SELECT setval(pg_get_serial_sequence('events', 'id'), max(id) + 1, false) FROM events"


class Damaged(Exception):
    """A dump's files aren't those that were written."""


class NotEmpty(Exception):
    """There are rows already where a dump was to be loaded."""


@dataclass(frozen=True)
class Dump:
    """What was written.

    Attributes:
        revision: of the schema.
        columns: by name of a table, in an order in which they can be loaded.
        rows: by name of a table.
    """

    revision: str
    columns: dict[str, list[str]]
    rows: dict[str, int]


def dump(database_url: str, folder: Path) -> Dump:
    """Write every table as it is at one moment, as `<table>.copy.gz`: COPY's text, which every version reads.

    Raises:
        DatabaseAway
        OSError: the folder can't be written to.
    """
    columns: dict[str, list[str]] = {}
    rows: dict[str, int] = {}
    with _connected(database_url) as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        for table in metadata.sorted_tables:
            if table.name in _LEFT_OUT:
                continue
            found = list(connection.execute(text(_COLUMNS), {"table": table.name}).scalars())
            columns[table.name] = found
            with gzip.open(_path(folder, table.name), "wb", compresslevel=1) as file:
                rows[table.name] = _copy(connection, table.name, found, "TO STDOUT", file)
    return Dump(revision, columns, rows)


@contextmanager
def loaded(database_url: str, folder: Path, dumped: Dump) -> Iterator[Connection]:
    """Fill an empty database with the rows of a dump; they are kept if the block ends well.

    It gets the dump's schema, whatever it had; `upgrade` it after that.

    Raises:
        NotEmpty, Damaged, DatabaseAway
    """
    with _connected(database_url) as connection:
        _check_empty(connection)
    begin_at(database_url, dumped.revision)
    with _connected(database_url) as connection:
        _check_empty(connection)
        for table, columns in dumped.columns.items():
            try:
                with gzip.open(_path(folder, table), "rb") as file:
                    loaded = _copy(connection, table, columns, "FROM STDIN", file)
            except (OSError, psycopg2.DataError, psycopg2.IntegrityError, QueryCanceled) as error:
                raise Damaged(f"{table}: {_first_line(error)}") from error
            if loaded != dumped.rows[table]:
                raise Damaged(f"{table} has {loaded} rows, not {dumped.rows[table]}")
        connection.execute(text(_NEXT_EVENT))
        yield connection


def _check_empty(connection: Connection) -> None:
    there = set(connection.execute(text("SELECT tablename FROM pg_tables")).scalars())
    for table in metadata.sorted_tables:
        row = select(literal(1)).select_from(table)
        if table.name in there and connection.execute(select(exists(row))).scalar_one():
            raise NotEmpty(f"the database isn't empty, there are rows in {table.name}: give it an empty one")


def _copy(connection: Connection, table: str, columns: list[str], way: str, file: Any) -> int:
    cursor = connection.connection.cursor()
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    cursor.copy_expert(
        sql.SQL("COPY {} ({}) " + way).format(sql.Identifier(table), names).as_string(cursor), file
    )
    return int(cursor.rowcount)


@contextmanager
def _connected(database_url: str) -> Iterator[Connection]:
    """One transaction without the limits of a process that serves."""
    engine = create_engine(make_url(database_url).set(drivername="postgresql+psycopg2"), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL timezone = 'UTC'"))
            yield connection
    except (OperationalError, InterfaceError) as error:
        raise DatabaseAway(_first_line(error.orig)) from error
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:  # of `COPY`, where SQLAlchemy isn't
        raise DatabaseAway(_first_line(error)) from error


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]


def _path(folder: Path, table: str) -> Path:
    return folder / f"{table}.copy.gz"
