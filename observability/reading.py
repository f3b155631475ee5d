"""A reading that many scrapes share, made by a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Reading(Generic[T]):
    """Reads something when asked, at most once in `keep_s`.

    What hangs is waited for by one thread, however often it is asked for.

    Args:
        read: asks whoever knows.
        keep_s: for how long what was read is handed out again. A failure never is.
    """

    def __init__(self, read: Callable[[], T], *, keep_s: float) -> None:
        self._read = read
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._newest: Future[tuple[float, T]] | None = None
        self._read_at_s = 0.0

    def start(self) -> Future[tuple[float, T]]:
        """What was read lately or is being read: how long that took, in seconds, and what it gave."""
        with self._lock:
            if self._newest is None or (self._newest.done() and not self._is_fresh(self._newest)):
                # Made with the first reading, since the process may fork before.
                self._executor = self._executor or ThreadPoolExecutor(1, "reading")
                self._newest = self._executor.submit(self._timed)
            return self._newest

    def _is_fresh(self, done: Future[tuple[float, T]]) -> bool:
        return done.exception() is None and time.monotonic() - self._read_at_s < self._keep_s

    def _timed(self) -> tuple[float, T]:
        begun_s = time.monotonic()
        read = self._read()
        self._read_at_s = time.monotonic()
        return self._read_at_s - begun_s, read
