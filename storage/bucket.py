"""S3 as a store: the client, uploads in parts, and links that S3 itself answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from storage.errors import Errors

if TYPE_CHECKING:
    from obstore import Attributes
    from obstore.store import ClientConfig, RetryConfig, S3Config

# The least that S3 takes as a part (but the last), and 10,000 of them are the most: 50 GB.
PART_BYTES = 5 * 1024 * 1024
# Parts of one upload under way at once. With the one being filled that is what it has in memory: 15 MiB.
PARTS_AT_ONCE = 2
# A store that hangs must be told to be away within a task's time limit; obstore's own limits are minutes.
_CLIENT_OPTIONS: ClientConfig = {
    "connect_timeout": timedelta(seconds=3),
    "timeout": timedelta(seconds=15),  # a request with its body: a part or a piece at 350 KB/s
    "allow_http": True,  # an endpoint that is given as http is meant so
}
_RETRIES: RetryConfig = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}


class Bucket:
    """A bucket of S3, or of a service that speaks as it does.

    Endpoint, region, addressing style and credentials are those of the `AWS_*` variables that
    docs/settings.md names; obstore reads them.

    Args:
        url: `s3://bucket/prefix`.
        reached_by: how clients reach the store, if not as we do: `https://photos-store.example`.
    """

    errors: Errors = (BaseError, OSError)

    def __init__(self, url: str, reached_by: str = "") -> None:
        self._s3 = _client(url)
        self._signer = _client(url, reached_by) if reached_by else self._s3

    def writer(self, key: str) -> BucketWriter:
        """Begin a new object."""
        return BucketWriter(self._s3, key)

    def put(self, key: str, data: bytes, *, media_type: str | None) -> None:
        """Store one whole object."""
        attributes: Attributes | None = {"Content-Type": media_type} if media_type else None
        obstore.put(self._s3, key, data, attributes=attributes)

    def get(self, key: str) -> bytes:
        """One whole object."""
        return bytes(obstore.get(self._s3, key).bytes())

    def piece(self, key: str, first: int, end: int) -> bytes:
        """An object's bytes from a first one to an end."""
        return bytes(obstore.get_range(self._s3, key, start=first, end=end))

    def delete(self, key: str) -> None:
        """Remove an object."""
        obstore.delete(self._s3, key)

    def size_bytes(self, key: str) -> int:
        """An object's size."""
        return int(obstore.head(self._s3, key)["size"])

    def keys(self, prefix: str, *, older_than_s: float) -> Iterator[list[str]]:
        """Keys of the objects under `prefix` that were written that long ago, in batches."""
        before = datetime.now(UTC) - timedelta(seconds=older_than_s)
        for batch in obstore.list(self._s3, prefix, chunk_size=1000):
            yield [meta["path"] for meta in batch if meta["last_modified"] < before]

    def check(self) -> None:
        """Ask for something."""
        obstore.list_with_delimiter(self._s3)

    def link(self, key: str, *, valid_s: float) -> str:
        """A link by which anyone may GET an object for a while; nothing is asked of S3 for it."""
        link: str = obstore.sign(self._signer, "GET", key, timedelta(seconds=valid_s))
        return link


class BucketWriter:
    """Sends an object in parts while it comes; what is smaller than a part goes in one request."""

    def __init__(self, backend: S3Store, key: str) -> None:
        self._inner = obstore.open_writer(backend, key, buffer_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)

    def write(self, data: bytes) -> None:
        """Take the next bytes; if as many parts are under way as may be, wait."""
        self._inner.write(data)

    def close(self) -> None:
        """Send what is left; if that fails the parts are given up."""
        self._inner.close()

    def abort(self) -> None:
        """Give up the parts that were sent."""
        self._inner.__exit__(InterruptedError, None, None)


def _client(url: str, endpoint: str = "") -> S3Store:
    config: S3Config = {"endpoint": endpoint} if endpoint else {}
    return S3Store.from_url(url, config=config, client_options=_CLIENT_OPTIONS, retry_config=_RETRIES)
