"""PostgreSQL: a pool of connections, and blocks of which each is a transaction or a statement."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg2.extensions import TRANSACTION_STATUS_IDLE
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from db.transaction import DatabaseAway, Transaction, run_all

CONNECT_TIMEOUT_S = 3
POOL_TIMEOUT_S = 5
# A process that hangs, or whose host is gone, in the middle of a transaction may hold up nobody for long:
# its locks end with its transaction, and whoever waits for them gives up before.
# No statement here is worth compiling: a page of 500 events took 0.5 s, nearly all of it for that. And each
# has its index: a plan that was kept from when a table was nearly empty shall not read it whole for ever.
# Those that are prepared are planned once, not anew with each set of values because that looks cheaper:
# planning costs more than most of them do.
_OPTIONS = (
    "-c timezone=UTC -c idle_in_transaction_session_timeout=10s -c lock_timeout=5s -c jit=off"
    " -c enable_seqscan=off -c plan_cache_mode=force_generic_plan"
)
# A server that vanished without a word (a host gone, a route cut) is noticed within this, not in hours.
_SILENCE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


# A connection that rested for so long is asked whether it still is one, before it is used.
_RESTED_S = 1.0


class Database:
    """A pool of connections. Nothing is connected before the first transaction.

    Args:
        url: `postgresql://...`; a libpq socket folder may stand in its `host` parameter.
        pool_size: connections kept; as many again may be opened for a moment.
        application_name: shown in `pg_stat_activity`.
        statement_timeout_s: how long a statement may run.
        prepares: keep plans of `Prepared` statements; not behind a pooler that shares connections.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        application_name: str = "safelight",
        statement_timeout_s: float = 30.0,
        prepares: bool = True,
    ) -> None:
        self._prepares = prepares
        self._engine = create_engine(
            make_url(url).set(drivername="postgresql+psycopg2"),
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=POOL_TIMEOUT_S,
            pool_use_lifo=True,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args={
                "connect_timeout": CONNECT_TIMEOUT_S,
                **_SILENCE,
                "application_name": application_name,
                "options": f"{_OPTIONS} -c statement_timeout={statement_timeout_s * 1000:.0f}",
            },
        )
        _roll_back_what_is_open(self._engine)
        _ask_the_rested(self._engine)

    @contextmanager
    def transaction(self, *, lock_timeout_s: float | None = None) -> Iterator[Transaction]:
        """Commit at the end of the block, roll back if it raises.

        Args:
            lock_timeout_s: how long it waits for a lock, if not as long as all others.

        Raises:
            DatabaseAway: PostgreSQL can't be reached, or a lock can't be had. Raised at the commit, the
                outcome is unknown.
        """
        begin = ["BEGIN", *_waiting(lock_timeout_s)]
        with _translating(), self._engine.connect() as connection:
            transaction = Transaction(connection, begin, prepares=self._prepares, commits_each=False)
            yield transaction
            transaction._commit()
        run_all(transaction._callbacks)

    @contextmanager
    def statement(self, *, lock_timeout_s: float | None = None) -> Iterator[Transaction]:
        """A block each of whose statements PostgreSQL commits by itself: for one, or to read.

        That saves a round trip.

        Args:
            lock_timeout_s: how long `Prepared` ones wait for a lock, if not as long as all others.

        Raises:
            DatabaseAway: PostgreSQL can't be reached, or a lock can't be had, or the outcome is unknown.
        """
        begin = _waiting(lock_timeout_s)
        with _translating(), self._engine.connect() as connection:
            yield Transaction(connection, begin, prepares=self._prepares, commits_each=True)

    def check(self) -> None:
        """Raises DatabaseAway if PostgreSQL doesn't answer."""
        with self.transaction() as tx:
            tx.execute("SELECT 1")

    def close(self) -> None:
        """Close every pooled connection that isn't in use."""
        self._engine.dispose()


def _waiting(lock_timeout_s: float | None) -> list[str]:
    return [] if lock_timeout_s is None else [f"SET LOCAL lock_timeout = {lock_timeout_s * 1000:.0f}"]


def _roll_back_what_is_open(engine: Engine) -> None:
    """A transaction that wasn't committed ends when its connection goes back into the pool.

    The driver, in its mode of autocommit, knows nothing of our BEGIN, and wouldn't.
    """

    @event.listens_for(engine, "reset")
    def roll_back(connection: Any, record: Any, state: Any) -> None:
        if not connection.closed and connection.get_transaction_status() != TRANSACTION_STATUS_IDLE:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")


def _ask_the_rested(engine: Engine) -> None:
    """SQLAlchemy's `pool_pre_ping`, but not for connections that worked a moment ago.

    Those find it out by themselves should PostgreSQL go away.
    """

    @event.listens_for(engine, "checkin")
    def rest(connection: Any, record: Any) -> None:
        record.info["rests_from_s"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def ask(connection: Any, record: Any, proxy: Any) -> None:
        rests_from_s = record.info.get("rests_from_s")
        if rests_from_s is None or time.monotonic() - rests_from_s < _RESTED_S:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error


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


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return str(cause).strip().partition("\n")[0]
