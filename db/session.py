"""Transactions on PostgreSQL, with callbacks that run only after a commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, TextClause, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 3
POOL_TIMEOUT_S = 5
# A process that hangs, or whose host is gone, in the middle of a transaction may hold up nobody for long:
# its locks end with its transaction, and whoever waits for them gives up before.
# No statement here is worth compiling: a page of 500 events took 0.5 s, nearly all of it for that.
_OPTIONS = "-c timezone=UTC -c idle_in_transaction_session_timeout=10s -c lock_timeout=5s -c jit=off"
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
            statement = _parsed(statement)
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
        statement_timeout_s: how long a statement may run.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        application_name: str = "safelight",
        statement_timeout_s: float = 30.0,
    ) -> None:
        self._engine = create_engine(
            make_url(url).set(drivername="postgresql+psycopg2"),
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=POOL_TIMEOUT_S,
            pool_pre_ping=True,
            pool_use_lifo=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": CONNECT_TIMEOUT_S,
                **_SILENCE,
                "application_name": application_name,
                "options": f"{_OPTIONS} -c statement_timeout={statement_timeout_s * 1000:.0f}",
            },
        )

        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Commit at the end of the block, roll back if it raises.

        Raises:
            DatabaseAway: PostgreSQL can't be reached. Raised at the commit, the outcome is unknown.
        """
        with _translating(), self._engine.begin() as connection:
            transaction = Transaction(connection)
            yield transaction
        transaction._run_callbacks()

    @contextmanager
    def statement(self) -> Iterator[Transaction]:
        """A block for a single statement, which PostgreSQL commits by itself: one round trip, not three.

        Raises:
            DatabaseAway: PostgreSQL can't be reached, or the outcome is unknown.
        """
        with _translating(), self._autocommit.connect() as connection:
            yield Transaction(connection)

    def check(self) -> None:
        """Raises DatabaseAway if PostgreSQL doesn't answer."""
        with self.transaction() as tx:
            tx.execute("SELECT 1")

    def close(self) -> None:
        """Close every pooled connection that isn't in use."""
        self._engine.dispose()


@contextmanager
def _translating() -> Iterator[None]:
    """Turn what the driver says of a lost or unreachable server into `DatabaseAway`."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise DatabaseAway(_first_line(error)) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise DatabaseAway(_first_line(error)) from error
        _hide_rows(error)
        raise


def _hide_rows(error: DBAPIError) -> None:
    """Leave only what PostgreSQL says first: its DETAIL and CONTEXT quote rows, which logs mustn't."""
    if error.orig is not None:
        error.orig.args = (_first_line(error),)
        error.args = (f"({type(error.orig).__name__}) {_first_line(error)}",)


@lru_cache(maxsize=256)
def _parsed(statement: str) -> TextClause:
    return text(statement)


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return str(cause).strip().partition("\n")[0]
