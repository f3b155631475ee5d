"""A local folder as a store: durable, read in place."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from config import Settings
from observability.metrics import StoreMetrics
from storage.errors import ObjectMissing, StoreAway
from storage.store import OPERATIONS, Store

Files = Callable[[], list[str]]


@contextmanager
def files_no_longer_than(size_bytes: int) -> Iterator[None]:
    """A limit that the system keeps as it keeps a disk's: it takes what has room, and then nothing."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def be_killed_while_writing(url: str) -> None:
    """A process that ends with an upload half written."""
    writer = Store(url, StoreMetrics(CollectorRegistry(), operations=OPERATIONS)).writer("a/c")
    writer.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_local_object_is_read_where_it_is(store: Store, tmp_path: Path) -> None:
    store.put("a/b", b"bytes")
    with store.local_file("a/b") as path:
        assert path.is_relative_to(tmp_path)
        assert path.read_bytes() == b"bytes"


def test_a_store_that_takes_nothing_is_away(store: Store, tmp_path: Path) -> None:
    (tmp_path / "store" / "a").write_text("a file where a folder is needed")
    with pytest.raises(StoreAway):
        store.put("a/b", b"bytes")
    with pytest.raises(StoreAway):
        store.writer("a/b").write(b"little")
    with pytest.raises(StoreAway):
        store.writer("a/b").close()


def test_a_folder_that_is_gone_is_not_made_again(store: Store, tmp_path: Path) -> None:
    (tmp_path / "store").rmdir()
    with pytest.raises(StoreAway):
        store.put("a/b", b"bytes")
    with pytest.raises(StoreAway):
        store.writer("a/b").write(b"bytes")
    assert not (tmp_path / "store").exists()


def test_a_disk_that_fills_up_is_away_and_nothing_of_the_object_stays(
    store: Store, stored_files: Files
) -> None:
    writer = store.writer("a/b")
    with files_no_longer_than(100_000):
        writer.write(bytes(70_000))
        with pytest.raises(StoreAway):
            writer.write(bytes(70_000))
        with pytest.raises(StoreAway):
            store.put("a/c", bytes(140_000))
    writer.abort()
    assert stored_files() == []


def test_bytes_that_the_disk_does_not_take_make_no_object(
    store: Store, stored_files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    writer = store.writer("a/b")
    writer.write(b"bytes")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreAway):
        writer.close()
    assert stored_files() == []


def test_what_the_system_takes_in_several_steps_is_written_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:700]))
    data = random.Random(0).randbytes(2_000)
    writer = store.writer("a/b")
    assert writer.write(data) == 2_000
    writer.close()
    store.put("a/c", data)
    assert store.get("a/b") == store.get("a/c") == data


def test_an_object_stays_whole_until_another_under_its_key_is(store: Store, stored_files: Files) -> None:
    store.put("a/b", b"damaged")
    first, second = store.writer("a/b"), store.writer("a/b")
    first.write(b"me")
    second.write(b"men")
    first.write(b"nded")
    assert store.get("a/b") == b"damaged"
    first.close()
    assert store.get("a/b") == b"mended"
    second.abort()
    assert store.get("a/b") == b"mended"
    assert stored_files() == ["a/b"]


def test_what_a_killed_process_left_is_no_object_and_goes_after_its_age(
    store: Store, stored_files: Files, settings: Settings
) -> None:
    store.put("a/b", b"bytes")
    spawn = multiprocessing.get_context("spawn")
    killed = spawn.Process(target=be_killed_while_writing, args=(settings.storage_url,))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    [_, left] = stored_files()
    assert left.startswith("a/c#")
    assert list(store.keys("a", older_than_s=-60)) == [["a/b"]]
    assert store.size_bytes("a/c") is None
    assert store.remove_unfinished(older_than_s=3600) == 0
    assert store.remove_unfinished(older_than_s=-60) == 1
    assert stored_files() == ["a/b"]


def test_of_a_folder_that_is_gone_no_object_is_missing(store: Store, tmp_path: Path) -> None:
    store.put("a/b", b"bytes")
    (tmp_path / "store").rename(tmp_path / "unmounted")
    with pytest.raises(StoreAway):
        store.get("a/b")
    with pytest.raises(StoreAway):
        store.chunks("a/b")
    with pytest.raises(StoreAway):
        store.size_bytes("a/b")
    with pytest.raises(StoreAway):
        store.delete("a/b")
    with pytest.raises(StoreAway), store.local_file("a/b"):
        pass
    (tmp_path / "unmounted").rename(tmp_path / "store")
    assert store.get("a/b") == b"bytes"


def test_what_is_deleted_while_it_is_read_is_read_to_its_end(store: Store) -> None:
    data = random.Random(0).randbytes(3_000_000)
    store.put("a/b", data)
    chunks = store.chunks("a/b")
    store.delete("a/b")
    assert b"".join(chunks) == data


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


@pytest.mark.parametrize("way", ["put", "writer"])
def test_bytes_are_durable_before_they_are_seen_and_names_before_it_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def named(path: Path) -> str:
        name, mark, _ = str(path.relative_to(tmp_path / "store")).partition("#")
        return name + mark

    def record_fsync(descriptor: int) -> None:
        done.append(f"fsync {named(Path(f'/proc/self/fd/{descriptor}').readlink())}")
        fsync(descriptor)

    def record_rename(before: Path, after: Path) -> None:
        done.append(f"rename {named(before)} {named(after)}")
        rename(before, after)

    def written(key: str) -> list[str]:
        done.clear()
        if way == "put":
            store.put(key, b"bytes")
        else:
            writer = store.writer(key)
            writer.write(b"bytes")
            writer.close()
        return done

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "rename", record_rename)
    assert written("originals/ab/1") == [
        "fsync originals/ab/1#",
        "rename originals/ab/1# originals/ab/1",
        "fsync originals/ab",
        "fsync originals",
        "fsync .",
    ]
    assert written("originals/ab/2") == [
        "fsync originals/ab/2#",
        "rename originals/ab/2# originals/ab/2",
        "fsync originals/ab",
    ]
    assert written("originals/cd/3")[2:] == ["fsync originals/cd", "fsync originals", "fsync ."]
    shutil.rmtree(tmp_path / "store" / "originals")  # another disk was mounted in the place of this one
    assert written("originals/ab/4")[2:] == ["fsync originals/ab", "fsync originals", "fsync ."]


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
