"""Objects in a local folder: streamed, durable, and gone without a trace when given up."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from observability.metrics import StoreMetrics
from storage.store import OPERATIONS, ObjectMissing, Store, StoreAway

Files = Callable[[], list[str]]
DATA = random.Random(0).randbytes(3_000_000)


def test_what_was_put_is_got(store: Store) -> None:
    store.put("a/b", b"bytes")
    assert store.get("a/b") == b"bytes"


def test_what_was_streamed_in_is_streamed_out(store: Store) -> None:
    writer = store.writer("a/b")
    for at in range(0, len(DATA), 70_000):
        writer.write(DATA[at : at + 70_000])
    writer.close()
    chunks = list(store.chunks("a/b"))
    assert b"".join(chunks) == DATA
    assert max(map(len, chunks)) <= 2 * 1024 * 1024


@pytest.mark.parametrize(
    "part", [(0, 1), (0, 3_000_000), (5, 2_000_000), (2_999_999, 3_000_000), (2_500_000, 9_000_000)]
)
def test_a_part_is_streamed_out_alone(store: Store, part: tuple[int, int]) -> None:
    store.put("a/b", DATA)
    assert b"".join(store.chunks("a/b", part)) == DATA[slice(*part)]


def test_an_object_is_not_there_before_its_writer_is_closed(store: Store) -> None:
    writer = store.writer("a/b")
    writer.write(DATA)
    with pytest.raises(ObjectMissing):
        store.get("a/b")
    writer.close()
    assert store.get("a/b") == DATA


@pytest.mark.parametrize("written", [b"", b"little", DATA])
def test_an_aborted_writer_leaves_no_file(store: Store, stored_files: Files, written: bytes) -> None:
    writer = store.writer("a/b")
    writer.write(written)
    writer.abort()
    assert stored_files() == []


def test_aborting_what_was_closed_keeps_it(store: Store) -> None:
    writer = store.writer("a/b")
    writer.write(DATA)
    writer.close()
    writer.abort()
    assert store.get("a/b") == DATA


def test_a_missing_object_is_missing_in_every_way_of_reading(store: Store) -> None:
    with pytest.raises(ObjectMissing):
        store.get("a/b")
    with pytest.raises(ObjectMissing):
        store.chunks("a/b")
    with pytest.raises(ObjectMissing), store.local_file("a/b"):
        pass


def test_deleting_removes_the_object_and_doing_so_again_is_no_error(
    store: Store, stored_files: Files
) -> None:
    store.put("a/b", b"bytes")
    store.delete("a/b")
    store.delete("a/b")
    assert stored_files() == []


def test_a_local_object_is_read_where_it_is(store: Store, tmp_path: Path) -> None:
    store.put("a/b", b"bytes")
    with store.local_file("a/b") as path:
        assert path.is_relative_to(tmp_path)
        assert path.read_bytes() == b"bytes"


def test_a_store_that_takes_nothing_is_away(store: Store, tmp_path: Path) -> None:
    (tmp_path / "store" / "a").write_text("a file where a folder is needed")
    with pytest.raises(StoreAway):
        store.put("a/b", b"bytes")
    writer = store.writer("a/b")
    writer.write(b"little")
    with pytest.raises(StoreAway):
        writer.close()


def test_the_check_fails_when_the_folder_is_gone(store: Store, tmp_path: Path) -> None:
    store.check()
    (tmp_path / "store").rmdir()
    with pytest.raises(StoreAway):
        store.check()


def test_errors_are_counted_and_missing_objects_are_none(store: Store, tmp_path: Path) -> None:
    (tmp_path / "store" / "a").write_text("a file where a folder is needed")
    with pytest.raises(StoreAway):
        store.put("a/b", b"bytes")
    with pytest.raises(ObjectMissing):
        store.get("c")
    counted = {sample.labels["operation"]: sample.value for sample in _samples(store) if sample.value}
    assert counted == {"put": 1.0}


def test_the_file_and_every_new_folder_above_it_are_made_durable(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()).removeprefix(str(tmp_path)))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    store.put("originals/ab/first", b"bytes")
    assert synced == ["/store/originals/ab/first", "/store/originals/ab", "/store/originals", "/store"]
    synced.clear()
    store.put("originals/ab/second", b"bytes")
    assert synced == ["/store/originals/ab/second", "/store/originals/ab"]
    synced.clear()
    store.put("originals/cd/third", b"bytes")
    assert synced[:3] == ["/store/originals/cd/third", "/store/originals/cd", "/store/originals"]


def test_a_local_store_knows_its_free_room(store: Store) -> None:
    free_bytes = store.free_bytes()
    assert free_bytes is not None
    assert free_bytes > 0


def test_a_folder_with_a_space_in_its_name_is_the_one_that_is_used(store: Store, tmp_path: Path) -> None:
    other = Store((tmp_path / "with a space").as_uri(), store.metrics)
    other.put("a/b", b"bytes")
    assert (tmp_path / "with a space" / "a" / "b").read_bytes() == b"bytes"


def _samples(store: Store) -> list[Sample]:
    (family,) = store.metrics.errors.collect()
    return [sample for sample in family.samples if sample.name.endswith("_total")]


class Bucket(BaseHTTPRequestHandler):
    """As much of S3 as a GET of one object: `DATA`, whatever its key."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Give the range that is asked for."""
        self.asked.append(self.headers["Range"])
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        self.send_response(206)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(DATA)}")
        self.send_header("ETag", '"tag"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.end_headers()
        self.wfile.write(DATA[first : last + 1])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_of_s3_too_only_the_part_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Bucket) as bucket:
        threading.Thread(target=bucket.handle_request).start()
        s3_at(bucket.server_port, monkeypatch)
        store = Store("s3://bucket/prefix", StoreMetrics(CollectorRegistry(), operations=OPERATIONS))
        assert b"".join(store.chunks("a/b", (1_000, 2_000_000))) == DATA[1_000:2_000_000]
    assert Bucket.asked == ["bytes=1000-1999999"]


def s3_at(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have S3 be on a port of this machine."""
    monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{port}")
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "y"), ("REGION", "z")):
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.mark.slow
def test_an_s3_store_that_takes_connections_and_never_answers_is_away_within_a_tasks_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        s3_at(black_hole.getsockname()[1], monkeypatch)
        store = Store("s3://bucket/prefix", StoreMetrics(CollectorRegistry(), operations=OPERATIONS))
        begun_s = time.monotonic()
        with pytest.raises(StoreAway):
            store.get("key")
        assert time.monotonic() - begun_s < 25
