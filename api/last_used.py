"""When something was last used, written beside the requests: none waits for it, none fails by it."""

from __future__ import annotations

import logging
import threading
from collections import deque

from cachetools import TTLCache

from db.session import Database
from observability.outage import Outage

logger = logging.getLogger(__name__)

# A row is written at most once in so long by a process; what is read there is as exact.
INTERVAL_S = 60.0
_MOST = 10_000


class LastUsed:
    """Writes the time of use into a row, at most once a minute, in a thread that is there while it is needed.

    What isn't written yet when the process ends is let go: no stop waits for a database that is away.

    Args:
        table, identity, column: the row's table, its primary key's column, and the time's.
    """

    def __init__(self, database: Database, table: str, identity: str, column: str) -> None:
        self._database = database
        self._statement = (
            f"UPDATE {table} SET {column} = clock_timestamp() WHERE {identity} = :identity "  # noqa: S608
            f"AND ({column} IS NULL OR {column} < clock_timestamp() - make_interval(secs => :interval_s))"
        )
        self._name = f"{table}.{column}"
        self._outage = Outage(f"writing {self._name}", logger)
        self._lock = threading.Lock()
        self._noted: TTLCache[object, bool] = TTLCache(_MOST, INTERVAL_S)
        self._waiting: deque[str | bytes] = deque(maxlen=_MOST)
        self._writing = False

    def note(self, identity: str | bytes) -> None:
        """It is in use now. Never raises, never waits."""
        with self._lock:
            if identity in self._noted:
                return
            self._noted[identity] = True
            self._waiting.append(identity)
            if self._writing:
                return
            self._writing = True
        try:
            threading.Thread(target=self._write_all, name=self._name, daemon=True).start()
        except RuntimeError:  # no thread is to be had
            self._writing = False

    def _write_all(self) -> None:
        while (identity := self._next()) is not None:
            try:
                with self._database.statement() as statement:
                    statement.execute(self._statement, {"identity": identity, "interval_s": INTERVAL_S})
            except Exception as error:  # noqa: BLE001 - whatever it is, no request is to suffer from it
                self._outage.failed(error)
            else:
                self._outage.worked()

    def _next(self) -> str | bytes | None:
        with self._lock:
            self._writing = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None
