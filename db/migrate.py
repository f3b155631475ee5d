"""Bring a database's schema up to date (Alembic), by one process at a time."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

_FOLDER = Path(__file__).parent / "migrations"
# Any constant number does, as long as every process of the service uses the same one.
_LOCK_ID = 7_311_201


def configuration() -> Config:
    """Alembic's configuration; it needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def upgrade(database_url: str, revision: str = "head") -> None:
    """Run the migrations that are missing, all in one transaction.

    Processes that start together wait for each other on an advisory lock.
    """
    engine = create_engine(make_url(database_url).set(drivername="postgresql+psycopg2"), poolclass=NullPool)
    config = configuration()
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK_ID})
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
