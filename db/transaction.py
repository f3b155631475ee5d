"""One open transaction: its statements, and the callbacks that run only after its commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, overload

from psycopg2.extensions import TRANSACTION_STATUS_INERROR
from sqlalchemy import Connection, CursorResult, Executable, TextClause, text

from db import prepared
from db.prepared import Prepared, Rows

logger = logging.getLogger(__name__)


class DatabaseAway(Exception):
    """PostgreSQL can't be reached, or went away in the middle of a transaction."""


Callback = Callable[[], None]
_PASSED_OVER = "a statement failed and was passed over: PostgreSQL would roll back"


class Transaction:
    """One open transaction; callbacks given to `after_commit` run when it has committed, in order.

    Its BEGIN goes with its first statement, and what is deferred with the next: a round trip costs more than
    many a statement.

    Args:
        begin: what goes before the first statement; where each is committed, before each.
        prepares: keep plans of `Prepared` statements.
        commits_each: PostgreSQL commits each statement by itself, and there is no BEGIN.
    """

    def __init__(
        self, connection: Connection, begin: Sequence[str], *, prepares: bool, commits_each: bool
    ) -> None:
        self._begin = [(sql, None) for sql in begin]
        self._connection = connection
        self._prepares = prepares
        self._commits_each = self._begun = commits_each
        self._failed = False
        self._deferred: list[prepared.Statement] = []
        self._callbacks: list[Callback] = []

    @overload
    def execute(self, statement: Prepared, parameters: Mapping[str, Any]) -> Rows: ...

    @overload
    def execute(
        self,
        statement: Executable | str,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]: ...

    def execute(
        self, statement: Executable | Prepared | str, parameters: Any = None
    ) -> CursorResult[Any] | Rows:
        """Run one statement; a plain string is SQL with `:name` parameters."""
        self._check()
        if isinstance(statement, Prepared):
            if self._prepares:
                return self._run(self._call(statement), parameters)
            result = self.execute(statement.sql, parameters)
            return Rows(result.all() if result.returns_rows else ())
        if not self._begun or self._deferred:
            self._send()
        if isinstance(statement, str):
            statement = _parsed(statement)
        return self._connection.execute(statement, parameters)

    def defer(self, statement: Prepared, parameters: Mapping[str, Any]) -> None:
        """Run a statement whose result nobody needs, with the next or the commit: a round trip less."""
        self._check()
        if self._prepares and not self._commits_each:
            call = self._call(statement)  # which may send what was deferred before
            self._deferred.append((call, parameters))
        else:
            self.execute(statement, parameters)

    def after_commit(self, callback: Callback) -> None:
        """Run `callback` once the commit is known to have succeeded.

        A callback is a hint to someone (a message, a metric): if it raises, that is logged and the
        transaction stands.
        """
        self._callbacks.append(callback)

    @contextmanager
    def callbacks(self) -> Iterator[list[Callback]]:
        """The callbacks given within the block, for its caller to run (`run_all`) after the commit."""
        others, self._callbacks = self._callbacks, []
        try:
            yield self._callbacks
        finally:
            self._callbacks = others

    def _call(self, statement: Prepared) -> str:
        return statement.call(self._run, self._connection.info.setdefault("prepared", {}))

    def _run(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        return self._send((sql, parameters))

    def _send(self, *last: prepared.Statement) -> Rows:
        statements = [*self._deferred, *last]
        self._deferred.clear()
        if self._commits_each or not self._begun:
            statements = [*self._begin, *statements]
            self._begun = True
        try:
            return prepared.run(self._connection, statements)
        except BaseException:
            self._failed = not self._commits_each
            raise

    def _check(self) -> None:
        if self._connection.invalidated:  # it would be replaced unnoticed, in the middle of a transaction
            raise DatabaseAway("the connection was lost")
        if self._failed:
            raise RuntimeError(_PASSED_OVER)

    def _commit(self) -> None:
        self._check()
        if self._begun or self._deferred:
            driver: Any = self._connection.connection.driver_connection
            if driver.get_transaction_status() == TRANSACTION_STATUS_INERROR:
                raise RuntimeError(_PASSED_OVER)
            self._run("COMMIT")


def run_all(callbacks: Iterable[Callback]) -> None:
    """Run what was to run after a commit; what one of them raises is logged."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            logger.warning("after-commit callback failed", exc_info=True)


@lru_cache(maxsize=256)
def _parsed(statement: str) -> TextClause:
    return text(statement)
