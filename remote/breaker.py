"""A circuit breaker (Nygard, Release It!): a dead service isn't called, but for a probe now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remote.errors import BreakerOpen, RemoteBusy, RemoteRejected, RemoteUnreachable


class Breaker:
    """Opens after `failures` calls in a row that failed; each `open_s` one call may try whether it is over.

    Args:
        told: called with True when it opens and False when it closes.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        open_s: float = 30.0,
        told: Callable[[bool], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = failures
        self._open_s = open_s
        self._told = told
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._shut_until_s: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the service counts as dead; so it does until a probe went well."""
        return self._shut_until_s is not None

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Make one call within the block.

        Raises:
            BreakerOpen: it isn't to be made; or it was the probe, and there was no connection.
        """
        probes = self._enter()
        try:
            yield
        except (RemoteRejected, RemoteBusy):  # an answer all the same
            self._worked()
            raise
        except RemoteUnreachable as error:
            self._failed()
            if probes:
                raise BreakerOpen(self._open_s) from error
            raise
        except BaseException:
            self._failed()
            raise
        self._worked()

    def _enter(self) -> bool:
        """Whether the call is a probe; while it is under way nobody else's is let through."""
        with self._lock:
            if self._shut_until_s is None:
                return False
            if (left_s := self._shut_until_s - self._clock()) > 0:
                raise BreakerOpen(left_s)
            self._shut_until_s = self._clock() + self._open_s
            return True

    def _worked(self) -> None:
        with self._lock:
            was_open, self._failures, self._shut_until_s = self.is_open, 0, None
        if was_open:
            self._told(False)

    def _failed(self) -> None:
        with self._lock:
            was_open = self.is_open
            self._failures += 1
            if self._failures >= self._most:
                self._shut_until_s = self._clock() + self._open_s
            opened = self.is_open and not was_open
        if opened:
            self._told(True)
