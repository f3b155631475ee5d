"""A background thread that does one thing again and again, and survives its failures."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from observability.outage import Outage

logger = logging.getLogger(__name__)


class Periodic:
    """Calls `action` every `interval_s` seconds, or sooner if it returns a float: so many seconds later.

    A failure is logged once, and once more when it is over, so that an outage doesn't fill the log.
    """

    def __init__(self, name: str, action: Callable[[], object], *, interval_s: float) -> None:
        self._action = action
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._outage = Outage(name, logger)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first call comes at once."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Let the call under way finish, within `timeout_s`, and make no more."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._stopped.wait(min(self._call(), self._interval_s))

    def _call(self) -> float:
        try:
            soon_s = self._action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next round may go well
            self._outage.failed(error)
            return self._interval_s
        self._outage.worked()
        return soon_s if isinstance(soon_s, float) else self._interval_s
