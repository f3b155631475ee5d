"""When something was last used, written beside the requests: none waits for it, none fails by it."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from cachetools import TTLCache

from db.session import Database
from observability.outage import Outage

logger = logging.getLogger(__name__)

# A row is written at most once in so long by a process; what is read there is as exact.
INTERVAL_S = 60.0
_MOST = 10_000


class LastUsed:
    """Writes the time of use into a row, at most once a minute, in a thread of its own.

    Args:
        table, identity, column: the row's table, its primary key's column, and the time's.
    """

    def __init__(self, database: Database, table: str, identity: str, column: str) -> None:
        self._database = database
        self._statement = (
            f"UPDATE {table} SET {column} = clock_timestamp() WHERE {identity} = :identity "  # noqa: S608
            f"AND ({column} IS NULL OR {column} < clock_timestamp() - make_interval(secs => :interval_s))"
        )
        self._lock = threading.Lock()
        self._noted: TTLCache[object, bool] = TTLCache(_MOST, INTERVAL_S)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"last-used-{table}")
        self._outage = Outage(f"writing {table}.{column}", logger)

    def note(self, identity: str | bytes) -> None:
        """It is in use now. Never raises, never waits."""
        with self._lock:
            if identity in self._noted:
                return
            self._noted[identity] = True
        with suppress(RuntimeError):  # the process is ending
            self._writer.submit(self._write, identity)

    def _write(self, identity: str | bytes) -> None:
        try:
            with self._database.statement() as statement:
                statement.execute(self._statement, {"identity": identity, "interval_s": INTERVAL_S})
        except Exception as error:  # noqa: BLE001 - whatever it is, no request is to suffer from it
            self._outage.failed(error)
        else:
            self._outage.worked()
