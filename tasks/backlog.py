"""Whether more work may come in: so many tasks may wait to be begun, and no more."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable

from db.session import Database
from tasks.errors import BacklogFull

_FRESH_S = 1.0
_WINDOW_S = 60.0
_LEAST_S, _MOST_S = 1, 3_600

# Never counts further than it must, over partial indexes: it costs what the limit is, not the backlog. (The
# order is the index's; without it PostgreSQL may read the whole table in the hope of finding enough early.)
_WAITING = """
SELECT (SELECT count(*) FROM (
        SELECT FROM tasks WHERE state = 'pending' AND queue = :kind
        ORDER BY priority, run_at, id LIMIT :most) AS found)
     + (SELECT count(*) FROM (
        SELECT FROM tasks WHERE state = 'queued' AND queue = :kind ORDER BY sent_at LIMIT :most) AS found)
"""
_DRAINED = """
SELECT (SELECT count(*) FROM tasks
        WHERE state IN ('completed', 'cancelled', 'discarded') AND kind = ANY(:kinds)
          AND finished_at > statement_timestamp() - make_interval(secs => :window_s))
     + (SELECT count(*) FROM tasks
        WHERE state = 'failed' AND kind = ANY(:kinds)
          AND finished_at > statement_timestamp() - make_interval(secs => :window_s))
"""


class Backlog:
    """Counts what waits, at most once a second in a process, whoever asks.

    Args:
        kinds: whose tasks count.
        limit: how many may wait.
    """

    def __init__(self, database: Database, kinds: Iterable[str], *, limit: int) -> None:
        self._database = database
        self._kinds = list(kinds)
        self._limit = limit
        self._counting = threading.Lock()
        self._counted_s = -math.inf
        self._retry_after_s: int | None = None

    def check(self) -> None:
        """Say whether more may come; while one thread counts, the others go by what was counted last.

        Raises:
            BacklogFull: too much waits.
            DatabaseAway
        """
        if time.monotonic() - self._counted_s >= _FRESH_S and self._counting.acquire(blocking=False):
            try:
                self._retry_after_s = self._count()
                self._counted_s = time.monotonic()
            finally:
                self._counting.release()
        if (retry_after_s := self._retry_after_s) is not None:
            raise BacklogFull("more photos wait than are taken in", retry_after_s=retry_after_s)

    def _count(self) -> int | None:
        """Seconds until there is room again, at the rate of the last minute; None if there is."""
        with self._database.transaction() as tx:
            waiting = sum(
                tx.execute(_WAITING, {"kind": kind, "most": 2 * self._limit}).scalar_one()
                for kind in self._kinds
            )
        if waiting < self._limit:
            return None
        with self._database.statement() as tx:
            drained = tx.execute(_DRAINED, {"kinds": self._kinds, "window_s": _WINDOW_S}).scalar_one()
        return seconds_to_drain(waiting - self._limit + 1, drained / _WINDOW_S)


def seconds_to_drain(excess: int, rate_per_s: float) -> int:
    """How long so many tasks take at a rate, between a second and an hour."""
    if rate_per_s <= 0:
        return _MOST_S
    return min(max(math.ceil(excess / rate_per_s), _LEAST_S), _MOST_S)
