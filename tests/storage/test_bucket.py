"""S3 as a store: in parts, by ranges, by links, and away in every way that it can be."""

from __future__ import annotations

import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from embedded.ports import any_free_port
from observability.metrics import StoreMetrics
from storage.bucket import PART_BYTES
from storage.errors import ObjectMissing, StoreAway
from storage.store import OPERATIONS, PIECE_BYTES, Store
from tests.s3 import BUCKET, Proxy

DATA = random.Random(0).randbytes(3 * PART_BYTES)
WAYS: dict[str, Callable[[Store], object]] = {
    "put": lambda store: store.put("a/b", b"bytes"),
    "writer": lambda store: _written(store, DATA),
    "get": lambda store: store.get("a/b"),
    "chunks": lambda store: list(store.chunks("a/b")),
    "size": lambda store: store.size_bytes("a/b"),
    "delete": lambda store: store.delete("a/b"),
    "keys": lambda store: list(store.keys("a", older_than_s=0)),
    "check": lambda store: store.check(),
}


@pytest.fixture
def store(bucket: Proxy) -> Store:
    """A store in the bucket."""
    return _store(bucket.url)


def _store(url: str, reached_by: str = "") -> Store:
    return Store(url, StoreMetrics(CollectorRegistry(), operations=OPERATIONS), reached_by=reached_by)


def _written(store: Store, data: bytes) -> None:
    writer = store.writer("a/b")
    try:
        for at in range(0, len(data), 65_536):
            writer.write(data[at : at + 65_536])
        writer.close()
    finally:
        writer.abort()


def test_a_large_object_goes_in_parts_that_s3_takes(store: Store, bucket: Proxy) -> None:
    _written(store, DATA + b"the rest")
    parts = [asked for asked in bucket.asked if asked.method == "PUT"]
    assert len(parts) == 4
    assert all("partNumber=" in asked.path for asked in parts)
    assert store.get("a/b") == DATA + b"the rest"


def test_a_small_object_goes_in_one_request(store: Store, bucket: Proxy) -> None:
    _written(store, b"little")
    assert [(asked.method, asked.path) for asked in bucket.asked] == [
        ("PUT", f"/{BUCKET}/{bucket.prefix}/a/b")
    ]


def test_an_upload_that_is_given_up_is_given_up_in_s3_too(store: Store, bucket: Proxy) -> None:
    writer = store.writer("a/b")
    writer.write(DATA)
    writer.abort()
    last = bucket.asked[-1]
    assert (last.method, last.status) == ("DELETE", 204)
    assert "uploadId=" in last.path
    assert bucket.files() == []


def test_only_the_part_that_is_wanted_is_asked_for(store: Store, bucket: Proxy) -> None:
    store.put("a/b", DATA)
    assert b"".join(store.chunks("a/b", (1_000, 2_000_000))) == DATA[1_000:2_000_000]
    assert [asked.range for asked in bucket.asked if asked.method == "GET"] == ["bytes=1000-1999999"]


def test_a_slow_reader_holds_no_request_open(store: Store, bucket: Proxy) -> None:
    store.put("a/b", DATA)
    chunks = store.chunks("a/b")
    next(chunks)
    asked = [asked for asked in bucket.asked if asked.method == "GET"]
    assert [(each.range, each.size_bytes) for each in asked] == [(f"bytes=0-{PIECE_BYTES - 1}", PIECE_BYTES)]
    assert len(b"".join(chunks)) == len(DATA) - PIECE_BYTES


@pytest.mark.parametrize("kind", ["away", "cut", "slow-down"])
@pytest.mark.parametrize("way", WAYS)
def test_a_store_with_a_fault_is_away_in_every_way_of_using_it(
    store: Store, bucket: Proxy, way: str, kind: str
) -> None:
    store.put("a/b", DATA)
    bucket.fail(kind)
    with pytest.raises(StoreAway):
        WAYS[way](store)


@pytest.mark.parametrize("kind", ["away", "cut", "slow-down"])
@pytest.mark.parametrize("way", WAYS)
def test_a_fault_that_is_over_at_once_is_not_seen(store: Store, bucket: Proxy, way: str, kind: str) -> None:
    store.put("a/b", DATA)
    bucket.fail(kind, times=1)
    WAYS[way](store)


def test_a_put_that_was_cut_short_leaves_nothing(store: Store, bucket: Proxy) -> None:
    bucket.fail("cut", method="PUT")
    with pytest.raises(StoreAway):
        _written(store, DATA)
    bucket.mend()
    assert bucket.files() == []
    with pytest.raises(ObjectMissing):
        store.get("a/b")
    assert any(asked.method == "DELETE" and asked.status == 204 for asked in bucket.asked)


def test_giving_up_an_upload_is_no_error_where_the_store_is_away(store: Store, bucket: Proxy) -> None:
    writer = store.writer("a/b")
    writer.write(DATA)
    bucket.fail("away")
    writer.abort()


@pytest.mark.parametrize("way", WAYS)
def test_where_nothing_listens_the_store_is_away(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{any_free_port()}")
    with pytest.raises(StoreAway):
        WAYS[way](_store("s3://bucket"))


@pytest.mark.parametrize("way", WAYS)
def test_a_bucket_that_is_gone_is_away_and_its_objects_are_not_missing(bucket: Proxy, way: str) -> None:
    with pytest.raises(StoreAway, match="NoSuchBucket"):
        WAYS[way](_store("s3://another/in/here"))


@pytest.mark.parametrize("way", WAYS)
def test_with_the_wrong_secret_the_store_is_away(
    bucket: Proxy, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StoreAway) as caught:
        WAYS[way](_store(bucket.url))
    assert "\n" not in str(caught.value)


def test_a_link_gives_the_object_with_its_type_to_anyone(store: Store) -> None:
    store.put("a/b", b"a picture", media_type="image/jpeg")
    with urllib.request.urlopen(store.link("a/b", valid_s=300)) as answer:
        assert answer.read() == b"a picture"
        assert answer.headers["Content-Type"] == "image/jpeg"


def test_a_link_that_was_changed_gives_nothing(store: Store) -> None:
    store.put("a/b", b"bytes")
    store.put("a/c", b"another's bytes")
    link = store.link("a/b", valid_s=300)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("/a/b?", "/a/c?"))


def test_a_link_leads_to_where_clients_reach_the_store(bucket: Proxy) -> None:
    store = _store(bucket.url, reached_by="https://photos-store.example")
    link = store.link("a/b", valid_s=300)
    assert link.startswith(f"https://photos-store.example/{BUCKET}/{bucket.prefix}/a/b?")
    assert "X-Amz-Expires=300" in link
    store.put("a/b", b"bytes")
    assert store.get("a/b") == b"bytes"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["put", "writer", "get", "check"])
def test_a_store_that_takes_connections_and_never_answers_is_away_within_a_tasks_time_limit(
    store: Store, bucket: Proxy, way: str
) -> None:
    bucket.fail("hangs")
    begun_s = time.monotonic()
    with pytest.raises(StoreAway):
        WAYS[way](store)
    assert time.monotonic() - begun_s < 25
