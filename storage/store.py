"""Objects under keys. What `put` and a closed `Writer` return for survives a power cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError as ObstoreError
from obstore.store import LocalStore, ObjectStore, from_url

from observability.metrics import StoreMetrics
from storage.folder import Folder
from storage.writer import CHUNK_BYTES, Writer

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, RetryConfig

OPERATIONS = ("put", "get", "delete", "check")


class StoreAway(Exception):
    """The store can't be reached or can't take more (a full disk, say); trying later may help."""


class ObjectMissing(Exception):
    """There is no object under that key."""


# A store that hangs must be told to be away within a task's time limit; obstore's own limits are minutes.
_CLIENT_OPTIONS: ClientConfig = {
    "connect_timeout": timedelta(seconds=3),
    "timeout": timedelta(seconds=10),
    "allow_http": True,  # an endpoint that is given as http is meant so
}
_RETRIES: RetryConfig = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}


class Store:
    """Objects in a local folder or in S3. Open it after a fork, never before (obstore runs threads).

    Args:
        url: `file:///folder` or `s3://bucket/prefix`.
    """

    def __init__(self, url: str, metrics: StoreMetrics) -> None:
        self.metrics = metrics
        self._folder: Folder | None = None
        self.backend: ObjectStore
        if url.startswith("file://"):
            self._folder = Folder(Path(unquote(urlsplit(url).path)))
            self.backend = LocalStore(self._folder.path, mkdir=True)
        else:
            self.backend = from_url(url, client_options=_CLIENT_OPTIONS, retry_config=_RETRIES)

    def writer(self, key: str) -> Writer:
        """Begin a new object. A key is never written twice, and never made from user text."""
        return Writer(self, key)

    def put(self, key: str, data: bytes) -> None:
        """Store one whole object.

        Raises:
            StoreAway
        """
        with self.translating("put"), self.metrics.duration.labels("put").time():
            obstore.put(self.backend, key, data)
            self.sync(key)

    def get(self, key: str) -> bytes:
        """Raises ObjectMissing, StoreAway."""
        with self.translating("get"), self.metrics.duration.labels("get").time():
            return bytes(obstore.get(self.backend, key).bytes())

    def chunks(self, key: str, part: tuple[int, int] | None = None) -> Iterator[bytes]:
        """An object's bytes, about a MiB at a time; it is opened at once, before the first step.

        Args:
            part: (first byte, end) if not all of it is wanted; nothing else is read then.

        Raises:
            ObjectMissing
            StoreAway: here, or at any step.
        """
        with self.translating("get"):
            options: GetOptions = {} if part is None else {"range": part}
            stream = obstore.get(self.backend, key, options=options).stream(min_chunk_size=CHUNK_BYTES)
        return self._steps(stream)

    def _steps(self, stream: Iterator[Any]) -> Iterator[bytes]:
        with self.translating("get"):
            for chunk in stream:
                yield bytes(chunk)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there.

        Raises:
            StoreAway
        """
        try:
            with self.translating("delete"), self.metrics.duration.labels("delete").time():
                obstore.delete(self.backend, key)
        except ObjectMissing:
            pass

    @contextmanager
    def local_file(self, key: str) -> Iterator[Path]:
        """A path at which the object can be read within the block: its own, or a copy's.

        Raises:
            ObjectMissing, StoreAway
        """
        if self._folder is not None:
            path = self._folder.path / key
            self.check()  # a disk that isn't mounted is away; its objects aren't missing
            with self.translating("get"):
                path.stat()
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="safelight-") as folder:
            path = Path(folder) / "object"
            with path.open("wb") as file:
                file.writelines(self.chunks(key))
            yield path

    def size_bytes(self, key: str) -> int | None:
        """An object's size; None if there is no such object.

        Raises:
            StoreAway
        """
        try:
            with self.translating("get"):
                return int(obstore.head(self.backend, key)["size"])
        except ObjectMissing:
            return None

    def keys(self, prefix: str, *, older_than_s: float) -> Iterator[list[str]]:
        """Keys of the objects under `prefix` that were written that long ago, in batches.

        Raises:
            StoreAway
        """
        before = datetime.now(UTC) - timedelta(seconds=older_than_s)
        with self.translating("get"):
            for batch in obstore.list(self.backend, prefix, chunk_size=1000):
                yield [meta["path"] for meta in batch if meta["last_modified"] < before]

    def remove_unfinished(self, *, older_than_s: float) -> int:
        """Remove what killed processes left of unfinished local uploads; S3 expires its own by a rule."""
        if self._folder is None:
            return 0
        with self.translating("delete"):
            return self._folder.remove_unfinished(older_than_s=older_than_s)

    def free_bytes(self) -> int | None:
        """Room left on a local store's disk; None for S3."""
        return self._folder.free_bytes() if self._folder else None

    def check(self) -> None:
        """Touch the store.

        Raises:
            StoreAway
        """
        with self.translating("check"):
            if self._folder is None:
                obstore.list_with_delimiter(self.backend)
            elif not self._folder.path.is_dir():
                raise NotADirectoryError(f"{self._folder.path} isn't there")

    def sync(self, key: str) -> None:
        """Make a local object durable, which obstore's local store doesn't do."""
        if self._folder is not None:
            self._folder.sync(key)

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the backend's errors into this room's, and count them."""
        try:
            yield
        except (ObstoreError, OSError) as error:
            if isinstance(error, FileNotFoundError) and operation in ("get", "delete"):
                raise ObjectMissing(str(error).partition("\n")[0]) from error
            self.metrics.errors.labels(operation).inc()
            raise StoreAway(str(error).partition("\n")[0]) from error
