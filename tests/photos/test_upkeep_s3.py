"""Rows and S3's objects in step: the same sweep and verify as over a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from config import Settings
from db.session import Database
from photos.upkeep import Upkeep
from storage.errors import StoreAway
from storage.store import Store
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg
from tests.s3 import Proxy


@pytest.fixture
def settings(settings: Settings, bucket: Proxy) -> Settings:
    """Everything in S3."""
    return replace(settings, storage_url=bucket.url)


@pytest.fixture
def upkeep(database: Database, store: Store, hand: Hand) -> Upkeep:
    """Over the app's database and store."""
    return Upkeep(database, store, hand.submitter, hand.states)


@pytest.fixture
def photo_id(client: Client, auth: Callable[..., dict[str, str]], hand: Hand) -> str:
    """A photo that is ready."""
    photo_id = str(client.post("/v1/photos", data=jpeg(), headers=auth()).json["id"])
    hand.finish(photo_id)
    return photo_id


def test_an_object_that_no_row_names_goes_after_its_age_and_the_others_stay(
    upkeep: Upkeep, photo_id: str, store: Store, bucket: Proxy
) -> None:
    named = bucket.files()
    assert len(named) == 3  # the original, the small preview, and one for the two others
    store.put("originals/zz/orphan", b"no row")
    assert upkeep.sweep(older_than_s=3600) == 0
    assert upkeep.sweep(older_than_s=-1) == 1
    assert bucket.files() == named


def test_a_sweep_while_the_store_is_away_removes_nothing(
    upkeep: Upkeep, photo_id: str, bucket: Proxy
) -> None:
    named = bucket.files()
    bucket.fail("slow-down")
    with pytest.raises(StoreAway):
        upkeep.sweep(older_than_s=-1)
    bucket.mend()
    assert bucket.files() == named


def test_a_lost_preview_is_found_and_made_again_and_an_outage_is_no_loss(
    upkeep: Upkeep, photo_id: str, store: Store, bucket: Proxy
) -> None:
    assert list(upkeep.verify(repair=True)) == []
    lost = next(key for key in bucket.files() if key.startswith("previews/"))
    store.delete(lost)
    (found,) = upkeep.verify(repair=True)
    assert (found.key, found.problem, found.repaired) == (lost, "missing", True)
    bucket.fail("slow-down")
    with pytest.raises(StoreAway):
        list(upkeep.verify(repair=True))
