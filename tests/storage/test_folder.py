"""A local folder as a store: durable, read in place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prometheus_client.samples import Sample

from storage.errors import ObjectMissing, StoreAway
from storage.store import Store


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
