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
from obstore.store import LocalStore, ObjectStore

from observability.metrics import StoreMetrics
from storage.bucket import PIECE_BYTES, Bucket
from storage.errors import ObjectMissing, StoreAway, told
from storage.folder import Folder
from storage.partial import PartialFile
from storage.writer import Writer

if TYPE_CHECKING:
    from obstore import GetOptions

OPERATIONS = ("put", "get", "delete", "check")
CHUNK_BYTES = 1024 * 1024


class Store:
    """Objects in a local folder or in S3. Open it after a fork, never before (obstore runs threads).

    Args:
        url: `file:///folder` or `s3://bucket/prefix`.
        reached_by: how clients reach an S3 store, if not as we do.
    """

    def __init__(self, url: str, metrics: StoreMetrics, *, reached_by: str = "") -> None:
        self.metrics = metrics
        self._folder: Folder | None = None
        self._bucket: Bucket | None = None
        self._place: Folder | Bucket
        self.backend: ObjectStore
        if url.startswith("file://"):
            self._place = self._folder = Folder(Path(unquote(urlsplit(url).path)))
            self.backend = LocalStore(self._folder.path, mkdir=True)
        else:
            self._place = self._bucket = Bucket(url, reached_by)
            self.backend = self._bucket.backend

    def writer(self, key: str) -> Writer:
        """Begin an object. A key is never made from user text, and used again only to mend its object."""
        return Writer(self, self._place.writer(key))

    def put(self, key: str, data: bytes, *, media_type: str | None = None) -> None:
        """Store one whole object.

        Args:
            media_type: what S3 says that it is, to those who come by a link.

        Raises:
            StoreAway
        """
        with self.translating("put"), self.metrics.duration.labels("put").time():
            self._place.put(key, data, media_type=media_type)

    def get(self, key: str) -> bytes:
        """Raises ObjectMissing, StoreAway."""
        with self.translating("get"), self.metrics.duration.labels("get").time():
            return bytes(obstore.get(self.backend, key).bytes())

    def chunks(self, key: str, part: tuple[int, int] | None = None) -> Iterator[bytes]:
        """An object's bytes, a few MiB at a time at most; it is opened at once, before the first step.

        Args:
            part: (first byte, end) if not all of it is wanted; nothing else is read then.

        Raises:
            ObjectMissing
            StoreAway: here, or at any step.
        """
        if self._bucket is not None:
            size_bytes = self._size_bytes(key)
            first, end = part or (0, size_bytes)
            return self._pieces(key, first, min(end, size_bytes))
        with self.translating("get"):
            options: GetOptions = {} if part is None else {"range": part}
            stream = obstore.get(self.backend, key, options=options).stream(min_chunk_size=CHUNK_BYTES)
        return self._steps(stream)

    def _steps(self, stream: Iterator[Any]) -> Iterator[bytes]:
        with self.translating("get"):
            for chunk in stream:
                yield bytes(chunk)

    def _pieces(self, key: str, first: int, end: int) -> Iterator[bytes]:
        for at in range(first, end, PIECE_BYTES):
            with self.translating("get"), self.metrics.duration.labels("get").time():
                piece = bytes(obstore.get_range(self.backend, key, start=at, end=min(at + PIECE_BYTES, end)))
            yield piece

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
        with _copy() as path:
            with (
                self.translating("get"),
                path.open("wb") as file,
            ):  # no room for the copy isn't its fault either
                file.writelines(self.chunks(key))
            yield path

    @contextmanager
    def partial_file(self, key: str) -> Iterator[PartialFile]:
        """As `local_file`, but of S3's only what is read of it is fetched.

        Raises:
            ObjectMissing, StoreAway
        """
        if self._folder is not None:
            with self.local_file(key) as path:
                yield PartialFile.whole(path)
            return
        size_bytes = self._size_bytes(key)
        with _copy() as path:
            yield PartialFile(path, size_bytes, lambda part: self._pieces(key, *part))

    def size_bytes(self, key: str) -> int | None:
        """An object's size; None if there is no such object.

        Raises:
            StoreAway
        """
        try:
            return self._size_bytes(key)
        except ObjectMissing:
            return None

    def _size_bytes(self, key: str) -> int:
        with self.translating("get"):
            return int(obstore.head(self.backend, key)["size"])

    def link(self, key: str, *, valid_s: float) -> str:
        """A link by which anyone may GET an object of S3 for a while. The store isn't asked for it."""
        if self._bucket is None:
            raise NotImplementedError("a folder answers no links")
        return self._bucket.link(key, valid_s=valid_s)

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
        """Room left on a local store's disk; None for S3, and while the folder isn't there."""
        try:
            return self._folder.free_bytes() if self._folder else None
        except OSError:
            return None

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

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the backend's errors into this room's, and count them."""
        try:
            yield
        except (ObstoreError, OSError) as error:
            if isinstance(error, FileNotFoundError) and operation in ("get", "delete"):
                if self._bucket is not None:
                    self.check()  # S3 says 404 of a bucket too: then all is away, and nothing is missing
                raise ObjectMissing(told(error)) from error
            self.metrics.errors.labels(operation).inc()
            raise StoreAway(told(error)) from error


@contextmanager
def _copy() -> Iterator[Path]:
    """A place for an object's copy, for as long as the block."""
    with tempfile.TemporaryDirectory(prefix="safelight-") as folder:
        yield Path(folder) / "object"
