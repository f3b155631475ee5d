"""Telling once that something fails, and once that it works again, so that an outage doesn't fill the log."""

from __future__ import annotations

import logging
import threading


class Outage:
    """One thing that may fail again and again, for any number of threads.

    Args:
        name: of what fails.
        logger: where it is told.
    """

    def __init__(self, name: str, logger: logging.Logger) -> None:
        self._name = name
        self._logger = logger
        self._lock = threading.Lock()
        self._failing = False

    def failed(self, error: BaseException) -> None:
        """It failed just now."""
        if self._turns(to=True):
            self._logger.warning("%s fails, and goes on trying: %s", self._name, error)

    def worked(self) -> None:
        """It worked just now."""
        if self._failing and self._turns(to=False):
            self._logger.info("%s works again", self._name)

    def _turns(self, *, to: bool) -> bool:
        with self._lock:
            before, self._failing = self._failing, to
        return before is not to
