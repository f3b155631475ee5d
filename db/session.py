"""Transactions on PostgreSQL, with callbacks that run only after a commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 3
POOL_TIMEOUT_S = 5
# A server that vanished without a word (a host gone, a route cut) is noticed within this, not in hours.
_SILENCE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class DatabaseAway(Exception):
    """PostgreSQL can't be reached, or went away in the middle of a transaction."""


class Transaction:
    """One open transaction; callbacks given to `after_commit` run when it has committed, in order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._callbacks: list[Callable[[], None]] = []

    def execute(
        self,
        statement: Executable | str,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        """Run one statement; a plain string is SQL with `:name` parameters."""
        if isinstance(statement, str):
            statement = text(statement)
        return self._connection.execute(statement, parameters)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the commit is known to have succeeded.

        A callback is a hint to someone (a message, a metric): if it raises, that is logged and the
        transaction stands.
        """
        self._callbacks.append(callback)

    def _run_callbacks(self) -> None:
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                logger.warning("after-commit callback failed", exc_info=True)


class Database:
    """A pool of connections. Nothing is connected before the first transaction.

    Args:
        url: `postgresql://...`; a libpq socket folder may stand in its `host` parameter.
        pool_size: connections kept; as many again may be opened for a moment.
        application_name: shown in `pg_stat_activity`.
    """

    def __init__(self, url: str, *, pool_size: int = 8, application_name: str = "safelight") -> None:
        self._engine = create_engine(
            make_url(url).set(drivername="postgresql+psycopg2"),
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=POOL_TIMEOUT_S,
            pool_pre_ping=True,
            pool_use_lifo=True,
            connect_args={
                "connect_timeout": CONNECT_TIMEOUT_S,
                **_SILENCE,
                "application_name": application_name,
                "options": "-c timezone=UTC",
            },
        )

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Commit at the end of the block, roll back if it raises.

        Raises:
            DatabaseAway: PostgreSQL can't be reached. Raised at the commit, the outcome is unknown.
        """
        try:
            with self._engine.begin() as connection:
                transaction = Transaction(connection)
                yield transaction
        except (OperationalError, InterfaceError, PoolTimeoutError) as error:
            raise DatabaseAway(_first_line(error)) from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise DatabaseAway(_first_line(error)) from error
            raise
        transaction._run_callbacks()

    def check(self) -> None:
        """Raises DatabaseAway if PostgreSQL doesn't answer."""
        with self.transaction() as tx:
            tx.execute("SELECT 1")

    def close(self) -> None:
        """Close every pooled connection that isn't in use."""
        self._engine.dispose()


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return str(cause).strip().partition("\n")[0]
