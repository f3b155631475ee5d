"""Writing one object piece by piece."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import obstore

if TYPE_CHECKING:
    from storage.store import Store

CHUNK_BYTES = 1024 * 1024


class Writer:
    """Streams one object into the store; it exists only once `close` has returned."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        self._inner = obstore.open_writer(store.backend, key, buffer_size=CHUNK_BYTES)
        self._begun_s = time.monotonic()

    def write(self, data: bytes) -> int:
        """Raises StoreAway."""
        with self._store.translating("put"):
            self._inner.write(data)
        return len(data)

    def close(self) -> None:
        """Make the object durable and visible.

        Raises:
            StoreAway: it may or may not exist.
        """
        with self._store.translating("put"):
            self._inner.close()
            self._store.sync(self._key)
        self._store.metrics.duration.labels("put").observe(time.monotonic() - self._begun_s)

    def abort(self) -> None:
        """Leave nothing behind. obstore drops an unfinished upload when its writer goes."""
        del self._inner
