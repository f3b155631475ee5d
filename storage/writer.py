"""Writing one object piece by piece."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from storage.errors import StoreAway

if TYPE_CHECKING:
    from storage.store import Store


class Unfinished(Protocol):
    """An object that is being written, in its backend's own way and with its backend's own errors."""

    def write(self, data: bytes, /) -> None:
        """Take the next bytes, all of them."""

    def close(self) -> None:
        """Make the object durable and visible, or leave nothing behind."""

    def abort(self) -> None:
        """Leave nothing behind. It isn't closed."""


class Writer:
    """Streams one object into the store; it exists only once `close` has returned."""

    def __init__(self, store: Store, unfinished: Unfinished) -> None:
        self._store = store
        self._unfinished: Unfinished | None = unfinished
        self._begun_s = time.monotonic()

    def write(self, data: bytes) -> int:
        """Raises StoreAway."""
        unfinished = self._open()
        with self._store.translating("put"):
            unfinished.write(data)
        return len(data)

    def close(self) -> None:
        """Make the object durable and visible.

        Raises:
            StoreAway: it may or may not exist.
        """
        unfinished, self._unfinished = self._open(), None
        with self._store.translating("put"):
            unfinished.close()
        self._store.metrics.duration.labels("put").observe(time.monotonic() - self._begun_s)

    def abort(self) -> None:
        """Leave nothing behind, unless it is closed; if S3 is away its rule for unfinished uploads does."""
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None:
            with suppress(StoreAway), self._store.translating("delete"):
                unfinished.abort()

    def _open(self) -> Unfinished:
        if self._unfinished is None:
            raise ValueError("the object is closed, or given up")
        return self._unfinished
