"""Writing one object piece by piece."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import obstore

from storage.errors import StoreAway

if TYPE_CHECKING:
    from obstore import WritableFile

    from storage.store import Store

CHUNK_BYTES = 1024 * 1024


class Writer:
    """Streams one object into the store; it exists only once `close` has returned.

    Args:
        part_bytes: how much is gathered before it goes on its way; what is smaller goes in one request.
        parts_at_once: parts that may be under way before `write` waits.
    """

    def __init__(self, store: Store, key: str, *, part_bytes: int, parts_at_once: int) -> None:
        self._store = store
        self._key = key
        self._inner: WritableFile | None = obstore.open_writer(
            store.backend, key, buffer_size=part_bytes, max_concurrency=parts_at_once
        )
        self._begun_s = time.monotonic()

    def write(self, data: bytes) -> int:
        """Raises StoreAway."""
        inner = self._open()
        with self._store.translating("put"):
            inner.write(data)
        return len(data)

    def close(self) -> None:
        """Make the object durable and visible.

        Raises:
            StoreAway: it may or may not exist.
        """
        inner, self._inner = self._open(), None
        with self._store.translating("put"):
            inner.close()  # if that fails it gives up an upload in parts itself
            self._store.sync(self._key)
        self._store.metrics.duration.labels("put").observe(time.monotonic() - self._begun_s)

    def abort(self) -> None:
        """Leave nothing behind, unless it is closed; if S3 is away its rule for unfinished uploads does."""
        inner, self._inner = self._inner, None
        if inner is not None:
            with suppress(StoreAway), self._store.translating("delete"):
                inner.__exit__(InterruptedError, None, None)

    def _open(self) -> WritableFile:
        if self._inner is None:
            raise ValueError("the object is closed, or given up")
        return self._inner
