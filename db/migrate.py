"""Bring a database's schema up to date (Alembic), by one process at a time.

Alembic is imported by what needs it: it takes 10 MB, and the API only has this for its commands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
# Any constant number does, as long as every process of the service uses the same one.
_LOCK_ID = 7_311_201
_TRY = text("SELECT pg_try_advisory_xact_lock(:id)")
_AGAIN_S = 0.2
# Rows that came from another server (a restored backup) may have its numbers of transactions, and readers
# would wait until those are reached here. With the oldest of all their order is that of the ids.
_NUMBERS_OF_OURS = """
UPDATE events SET xid = '3'
WHERE EXISTS (SELECT FROM events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))
"""


def configuration() -> Config:
    """Alembic's configuration; it needs no ini file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def begin_at(database_url: str, revision: str) -> None:
    """Give a database without rows the schema of a revision, older or newer than the one it has."""
    from alembic import command

    with _alone(database_url) as config:
        command.downgrade(config, "base")
        config.attributes["connection"].commit()  # of what it only read, if there was nothing
        command.upgrade(config, revision)


def upgrade(database_url: str, revision: str = "head") -> None:
    """Run the migrations that are missing, each in a transaction of its own.

    Processes that start together wait for each other.
    """
    from alembic import command

    with _alone(database_url) as config:
        command.upgrade(config, revision)
        if revision == "head":
            connection = config.attributes["connection"]
            connection.execute(text(_NUMBERS_OF_OURS))
            connection.commit()


@contextmanager
def _alone(database_url: str) -> Iterator[Config]:
    """Alembic with a connection, by one process at a time."""
    engine = create_engine(make_url(database_url).set(drivername="postgresql+psycopg2"), poolclass=NullPool)
    config = configuration()
    with engine.begin() as guard, engine.connect() as connection:
        # Asked again and again: whoever waits in a statement has a snapshot, for which an index that is built
        # CONCURRENTLY would wait in turn.
        while not guard.execute(_TRY, {"id": _LOCK_ID}).scalar_one():
            time.sleep(_AGAIN_S)
        config.attributes["connection"] = connection
        yield config
