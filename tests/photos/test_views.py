"""Photos as they are read, while others change them."""

from __future__ import annotations

from uuid import UUID

import pytest

from db.session import Database
from photos.errors import NotMadeYet, NotToBeHad, PhotoNotFound
from photos.intake import Intake
from photos.views import Views
from storage.errors import ObjectMissing
from storage.store import Store
from tests.hand import Hand
from tests.pictures import jpeg


@pytest.fixture
def photo_id(intake: Intake) -> UUID:
    """A photo that was just taken in."""
    upload = intake.upload()
    upload.write(jpeg())
    return intake.accept(upload, owner="anna", filename=None).id


def test_another_owner_finds_nothing(views: Views, photo_id: UUID) -> None:
    assert views.get(photo_id, owner="anna").id == photo_id
    with pytest.raises(PhotoNotFound):
        views.get(photo_id, owner="bert")
    assert views.page(owner="bert", limit=10).photos == ()


def test_a_photo_shows_only_the_newest_task_of_each_kind(views: Views, hand: Hand, photo_id: UUID) -> None:
    hand.finish(photo_id)
    first = {task.kind: task.id for task in views.get(photo_id, owner="anna").tasks}
    hand.again(photo_id, "exif")
    now = {task.kind: (task.id, task.state) for task in views.get(photo_id, owner="anna").tasks}
    assert now["preview"] == (first["preview"], "completed")
    assert now["exif"][0] != first["exif"]
    assert now["exif"][1] == "queued"


@pytest.mark.parametrize("kind", ["preview", "exif"])
def test_what_is_not_there_is_on_its_way_or_cannot_be_had(
    views: Views, hand: Hand, photo_id: UUID, kind: str
) -> None:
    def read() -> None:
        if kind == "preview":
            views.preview(photo_id, "small", owner="anna")
        else:
            views.exif(photo_id, owner="anna")

    with pytest.raises(NotMadeYet):
        read()
    hand.fail(photo_id, kind, error_type="corrupt-image", detail="it is broken")
    with pytest.raises(NotToBeHad, match="it is broken"):
        read()


def test_a_failed_second_try_leaves_the_first_ones_previews(views: Views, hand: Hand, photo_id: UUID) -> None:
    hand.finish(photo_id)
    hand.again(photo_id, "preview")
    hand.fail(photo_id, "preview", error_type="corrupt-image", detail="it is broken")
    assert views.preview(photo_id, "small", owner="anna")[1].startswith(b"\xff\xd8")


class RenewedMeanwhile(Store):
    """A store in which the previews are made anew while one of them is being fetched."""

    hand: Hand
    photo_id: UUID
    renewed = False

    def get(self, key: str) -> bytes:
        if not self.renewed:
            self.renewed = True
            self.hand.again(self.photo_id, "preview")
            self.hand.previews(self.photo_id)
        return super().get(key)


def test_a_preview_that_is_made_anew_meanwhile_is_found(
    database: Database, store: Store, hand: Hand, photo_id: UUID
) -> None:
    hand.finish(photo_id)
    store.__class__ = RenewedMeanwhile
    assert isinstance(store, RenewedMeanwhile)
    store.hand, store.photo_id = hand, photo_id
    preview, data = Views(database, store).preview(photo_id, "small", owner="anna")
    assert store.renewed
    assert len(data) == preview.size_bytes


def test_a_preview_whose_file_is_gone_is_missing(
    views: Views, hand: Hand, store: Store, photo_id: UUID
) -> None:
    hand.finish(photo_id)
    store.delete(views.get(photo_id, owner="anna").previews[0].key)
    with pytest.raises(ObjectMissing):
        views.preview(photo_id, "small", owner="anna")


def test_is_processing_says_no_for_a_photo_that_is_gone(
    views: Views, hand: Hand, photo_id: UUID, database: Database
) -> None:
    assert views.is_processing(photo_id)
    hand.finish(photo_id)
    assert not views.is_processing(photo_id)
    with database.transaction() as tx:
        tx.execute("DELETE FROM photos")
    assert not views.is_processing(photo_id)
