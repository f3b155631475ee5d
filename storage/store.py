"""Objects under keys. What `put` and a closed `Writer` return for survives a power cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from observability.metrics import StoreMetrics
from storage.errors import ObjectMissing, StoreAway, told
from storage.folder import Folder
from storage.partial import PartialFile
from storage.writer import Writer

if TYPE_CHECKING:
    from storage.bucket import Bucket

OPERATIONS = ("put", "get", "delete", "check")
# An object of S3 is read in requests of this size: a limit of time fits each, however slow the reader is.
PIECE_BYTES = 4 * 1024 * 1024


class Store:
    """Objects in a local folder or in S3. Open it after a fork, never before (for S3 obstore runs threads).

    Args:
        url: `file:///folder` or `s3://bucket/prefix`.
        reached_by: how clients reach an S3 store, if not as we do.
    """

    def __init__(self, url: str, metrics: StoreMetrics, *, reached_by: str = "") -> None:
        self.metrics = metrics
        self._place: Folder | Bucket
        if url.startswith("file://"):
            self._place = Folder(Path(unquote(urlsplit(url).path)))
        else:
            from storage.bucket import Bucket  # and obstore, 4 MB that a folder needs not

            self._place = Bucket(url, reached_by)

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
            return self._place.get(key)

    def chunks(self, key: str, part: tuple[int, int] | None = None) -> Iterator[bytes]:
        """An object's bytes, a few MiB at a time at most; it is opened at once, before the first step.

        Args:
            part: (first byte, end) if not all of it is wanted; nothing else is read then.

        Raises:
            ObjectMissing
            StoreAway: here, or at any step.
        """
        if not isinstance(self._place, Folder):
            size_bytes = self._size_bytes(key)
            first, end = part or (0, size_bytes)
            return self._pieces(self._place, key, first, min(end, size_bytes))
        with self.translating("get"):
            chunks = self._place.chunks(key, part)
        return self._steps(chunks)

    def _steps(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        with self.translating("get"):
            yield from chunks

    def _pieces(self, bucket: Bucket, key: str, first: int, end: int) -> Iterator[bytes]:
        for at in range(first, end, PIECE_BYTES):
            with self.translating("get"), self.metrics.duration.labels("get").time():
                piece = bucket.piece(key, at, min(at + PIECE_BYTES, end))
            yield piece

    def delete(self, key: str) -> None:
        """Remove an object, if it is there.

        Raises:
            StoreAway
        """
        try:
            with self.translating("delete"), self.metrics.duration.labels("delete").time():
                self._place.delete(key)
        except ObjectMissing:
            pass

    @contextmanager
    def local_file(self, key: str) -> Iterator[Path]:
        """A path at which the object can be read within the block: its own, or a copy's.

        Raises:
            ObjectMissing, StoreAway
        """
        if isinstance(self._place, Folder):
            self._size_bytes(key)
            yield self._place.path_of(key)
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
        place = self._place
        if isinstance(place, Folder):
            with self.local_file(key) as path:
                yield PartialFile.whole(path)
            return
        size_bytes = self._size_bytes(key)
        with _copy() as path:
            yield PartialFile(path, size_bytes, lambda part: self._pieces(place, key, *part))

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
            return self._place.size_bytes(key)

    def link(self, key: str, *, valid_s: float) -> str:
        """A link by which anyone may GET an object of S3 for a while. The store isn't asked for it."""
        if isinstance(self._place, Folder):
            raise NotImplementedError("a folder answers no links")
        return self._place.link(key, valid_s=valid_s)

    def keys(self, prefix: str, *, older_than_s: float) -> Iterator[list[str]]:
        """Keys of the objects under `prefix` that were written that long ago, in batches.

        Raises:
            StoreAway
        """
        with self.translating("get"):
            yield from self._place.keys(prefix, older_than_s=older_than_s)

    def remove_unfinished(self, *, older_than_s: float) -> int:
        """Remove what killed processes left of unfinished local uploads; S3 expires its own by a rule."""
        if not isinstance(self._place, Folder):
            return 0
        with self.translating("delete"):
            return self._place.remove_unfinished(older_than_s=older_than_s)

    def free_bytes(self) -> int | None:
        """Room left on a local store's disk; None for S3, and while the folder isn't there."""
        try:
            return self._place.free_bytes() if isinstance(self._place, Folder) else None
        except OSError:
            return None

    def check(self) -> None:
        """Touch the store.

        Raises:
            StoreAway
        """
        with self.translating("check"):
            self._place.check()

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the backend's errors into this room's, and count them."""
        try:
            yield
        except self._place.errors as error:
            if isinstance(error, FileNotFoundError) and operation in ("get", "delete"):
                self.check()  # of a bucket that is gone, or a disk that isn't mounted, nothing is missing
                raise ObjectMissing(told(error)) from error
            self.metrics.errors.labels(operation).inc()
            raise StoreAway(told(error)) from error


@contextmanager
def _copy() -> Iterator[Path]:
    """A place for an object's copy, for as long as the block."""
    with tempfile.TemporaryDirectory(prefix="safelight-") as folder:
        yield Path(folder) / "object"
