"""What the database's server says of itself."""

from __future__ import annotations

from db.session import Database
from observability.dependencies import About

_ABOUT = "SELECT current_setting('server_version') AS version, pg_postmaster_start_time() AS started_at"


def about_database(database: Database) -> About:
    """Its version and when it was started.

    Raises:
        DatabaseAway
    """
    with database.statement() as tx:
        row = tx.execute(_ABOUT).one()
    return About(f"PostgreSQL {row.version.partition(' ')[0]}", row.started_at)
