"""Telling once that something fails, and once that it works again, so that an outage doesn't fill the log."""

from __future__ import annotations

import logging
import threading
import time


class Outage:
    """One thing that may fail again and again, for any number of threads.

    Args:
        name: of what fails.
        logger: where it is told.
        quiet_s: it is over when nothing has failed for so long. A pool's stale connections fail one by one
            when a server is back already.
    """

    def __init__(self, name: str, logger: logging.Logger, *, quiet_s: float = 0.0) -> None:
        self._name = name
        self._logger = logger
        self._quiet_s = quiet_s
        self._lock = threading.Lock()
        self._failing = False
        self._failed_at_s = 0.0

    def failed(self, error: BaseException) -> None:
        """It failed just now."""
        self._failed_at_s = time.monotonic()
        if self._turns(to=True):
            self._logger.warning("%s fails, and goes on trying: %s", self._name, error)

    def worked(self) -> None:
        """It worked just now."""
        over = self._failing and time.monotonic() - self._failed_at_s >= self._quiet_s
        if over and self._turns(to=False):
            self._logger.info("%s works again", self._name)

    def _turns(self, *, to: bool) -> bool:
        with self._lock:
            before, self._failing = self._failing, to
        return before is not to
