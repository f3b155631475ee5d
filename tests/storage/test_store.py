"""What a store does, wherever it keeps its objects: every test here runs over a folder and over S3."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from config import Settings
from observability.metrics import StoreMetrics
from storage.errors import ObjectMissing
from storage.store import OPERATIONS, Store

Files = Callable[[], list[str]]
DATA = random.Random(0).randbytes(12_000_000)  # more than two parts of S3's


@pytest.fixture(params=["folder", "s3"])
def url(request: pytest.FixtureRequest, settings: Settings) -> str:
    """Where the store is."""
    if request.param == "folder":
        return settings.storage_url
    url: str = request.getfixturevalue("bucket").url
    return url


@pytest.fixture
def store(url: str) -> Store:
    """A store of each kind."""
    return Store(url, StoreMetrics(CollectorRegistry(), operations=OPERATIONS))


@pytest.fixture
def stored_files(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Files:
    """Every file that the store has, unfinished ones too."""
    if url.startswith("s3:"):
        files: Files = request.getfixturevalue("bucket").files
        return files
    root = tmp_path / "store"
    return lambda: sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


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
    assert max(map(len, chunks)) <= 4 * 1024 * 1024


@pytest.mark.parametrize(
    "part", [(0, 1), (0, 12_000_000), (5, 2_000_000), (11_999_999, 12_000_000), (2_500_000, 99_000_000)]
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


def test_an_object_is_empty_whose_writer_is_closed_at_once(store: Store) -> None:
    store.writer("a/b").close()
    assert store.get("a/b") == b""


@pytest.mark.parametrize("key", ["../b", "a/../../b"])
def test_no_key_leads_out_of_the_store(store: Store, stored_files: Files, key: str) -> None:
    with pytest.raises(ValueError, match=r"\.\."):
        store.put(key, b"bytes")
    with pytest.raises(ValueError, match=r"\.\."):
        store.writer(key)
    assert stored_files() == []


def test_aborting_what_was_closed_keeps_it(store: Store) -> None:
    writer = store.writer("a/b")
    writer.write(DATA)
    writer.close()
    writer.abort()
    assert store.get("a/b") == DATA


@pytest.mark.parametrize("way", ["put", "writer"])
def test_an_objects_writing_is_measured(store: Store, way: str) -> None:
    if way == "put":
        store.put("a/b", b"bytes")
    else:
        writer = store.writer("a/b")
        writer.write(b"bytes")
        writer.close()
    [family] = store.metrics.duration.collect()
    counted = {
        sample.labels["operation"]: sample.value
        for sample in family.samples
        if sample.name.endswith("_count") and sample.value
    }
    assert counted == {"put": 1}


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


def test_keys_are_listed_below_a_prefix_and_only_those_that_are_old_enough(store: Store) -> None:
    for key in ("originals/ab/1", "originals/cd/2", "previews/ab/3"):
        store.put(key, b"bytes")
    assert sorted(key for keys in store.keys("originals", older_than_s=-60) for key in keys) == [
        "originals/ab/1",
        "originals/cd/2",
    ]
    assert [key for keys in store.keys("originals", older_than_s=60) for key in keys] == []


def test_an_objects_size_is_known_and_a_missing_ones_is_none(store: Store) -> None:
    store.put("a/b", DATA)
    assert store.size_bytes("a/b") == len(DATA)
    assert store.size_bytes("a/c") is None


def test_an_object_is_read_as_a_file(store: Store) -> None:
    store.put("a/b", DATA)
    with store.local_file("a/b") as path:
        assert path.read_bytes() == DATA
    with store.partial_file("a/b") as file:
        if file.present is not None:
            file.fill()
        assert file.path.read_bytes() == DATA


def test_a_store_that_is_there_passes_its_check(store: Store) -> None:
    store.check()
