"""Rows and objects in step: the sweep and verify."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from flask import Flask
from prometheus_client import CollectorRegistry

from db.session import Database
from db.transaction import Transaction
from observability.metrics import PhotoMetrics
from photos.states import PhotoStates
from photos.upkeep import Upkeep
from storage.store import Store
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
Files = Callable[[], list[str]]


@pytest.fixture
def upkeep(database: Database, store: Store, hand: Hand) -> Upkeep:
    """Over the app's database and store."""
    return Upkeep(database, store, hand.submitter, hand.states)


@pytest.fixture
def photo_id(client: Client, auth: Auth, hand: Hand) -> str:
    """A photo that is ready."""
    photo_id = str(client.post("/v1/photos", data=jpeg(), headers=auth()).json["id"])
    hand.finish(photo_id)
    return photo_id


def test_an_object_that_no_row_names_goes_after_its_age_and_the_others_stay(
    upkeep: Upkeep, photo_id: str, store: Store, stored_files: Files
) -> None:
    named = stored_files()
    store.put("originals/zz/orphan", b"no row")
    assert upkeep.sweep(older_than_s=3600) == 0
    assert upkeep.sweep(older_than_s=-1) == 1
    assert stored_files() == named


def test_what_a_killed_upload_left_goes_after_its_age(
    upkeep: Upkeep, photo_id: str, tmp_path: Path, stored_files: Files
) -> None:
    unfinished = tmp_path / "store" / "originals" / "ab" / "file#1"
    unfinished.parent.mkdir(exist_ok=True)
    unfinished.write_bytes(b"half")
    assert upkeep.sweep(older_than_s=3600) == 0
    os.utime(unfinished, (time.time() - 7200, time.time() - 7200))
    assert upkeep.sweep(older_than_s=3600) == 1
    assert not unfinished.exists()


def test_verify_finds_nothing_where_all_is_well(upkeep: Upkeep, photo_id: str) -> None:
    assert list(upkeep.verify(repair=False)) == []


def test_a_missing_preview_is_told_and_made_again(
    upkeep: Upkeep, photo_id: str, tmp_path: Path, hand: Hand
) -> None:
    [small] = (tmp_path / "store" / "previews").rglob("*.small")
    small.unlink()
    [told] = upkeep.verify(repair=False)
    assert (str(told.photo_id), told.problem, told.repaired) == (photo_id, "missing", False)
    [repaired] = upkeep.verify(repair=True)
    assert repaired.repaired
    hand.previews(photo_id)
    assert list(upkeep.verify(repair=False)) == []


def test_a_lost_original_is_told_and_cant_be_repaired(
    upkeep: Upkeep, photo_id: str, tmp_path: Path, app: Flask
) -> None:
    [original] = (path for path in (tmp_path / "store" / "originals").rglob("*") if path.is_file())
    original.write_bytes(b"short")
    [told] = upkeep.verify(repair=True)
    assert (told.problem, told.repaired) == (f"5 bytes, not {len(jpeg())}", False)
    result = app.test_cli_runner().invoke(args=["verify"])
    assert result.exit_code == 1
    assert "1 mismatches, 1 left" in result.output


def test_a_repair_submits_one_task_a_photo_and_the_photo_is_processing_until_then(
    upkeep: Upkeep, photo_id: str, tmp_path: Path, database: Database
) -> None:
    for preview in (tmp_path / "store" / "previews").rglob("*.*.*"):
        preview.unlink()
    assert len(list(upkeep.verify(repair=True))) == 2  # medium and large are one object
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM tasks WHERE state = 'queued'").scalar_one() == 1
        assert tx.execute("SELECT state FROM photos").scalar_one() == "processing"


def test_what_was_deleted_while_verify_ran_is_no_mismatch(
    database: Database, store: Store, hand: Hand, photo_id: str, client: Client, auth: Auth
) -> None:
    class Deleting(PhotoStates):
        """Deletes the photo at the last moment before verify locks it."""

        def lock(self, tx: Transaction, *subjects: UUID) -> None:
            client.ask("DELETE", f"/v1/photos/{photo_id}", headers=headers)
            super().lock(tx, *subjects)

    headers = auth()
    key = first_key(database)
    store.delete(key)
    states = Deleting(PhotoMetrics(CollectorRegistry()))
    found = Upkeep(database, store, hand.submitter, states).verify(repair=True)
    assert list(found) == []
    with database.transaction() as tx:
        live = "SELECT count(*) FROM tasks WHERE state IN ('pending', 'queued')"
        assert tx.execute(live).scalar_one() == 0


def first_key(database: Database) -> str:
    """The key of some preview."""
    with database.transaction() as tx:
        return str(tx.execute("SELECT key FROM previews ORDER BY key LIMIT 1").scalar_one())
