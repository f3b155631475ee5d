"""What the workers made: stored, replaced, and never left behind."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from db.session import Database
from imaging.preview import render
from photos.errors import PhotoNotFound
from photos.intake import Intake
from photos.views import Views
from storage.errors import ObjectMissing
from storage.store import Store
from tasks.errors import LeaseLost
from tests.hand import Hand
from tests.pictures import MAKE, jpeg

Files = Callable[[], list[str]]


@pytest.fixture
def photo_id(intake: Intake) -> UUID:
    """A photo that was just taken in."""
    upload = intake.upload()
    upload.write(jpeg(900, 600))
    return intake.accept(upload, owner="anna", filename=None).id


def test_the_original_can_be_read_as_a_file(hand: Hand, photo_id: UUID) -> None:
    with hand.results.original(photo_id) as path:
        assert path.read_bytes() == jpeg(900, 600)


def test_a_photo_that_is_gone_has_no_original(hand: Hand) -> None:
    with pytest.raises(PhotoNotFound), hand.results.original(uuid4()):
        pass


def test_an_original_that_is_gone_is_missing(
    hand: Hand, photo_id: UUID, store: Store, database: Database
) -> None:
    with database.transaction() as tx:
        store.delete(tx.execute("SELECT original_key FROM photos").scalar_one())
    with pytest.raises(ObjectMissing), hand.results.original(photo_id):
        pass


def test_previews_and_metadata_are_saved_with_the_photo(hand: Hand, views: Views, photo_id: UUID) -> None:
    hand.finish(photo_id)
    photo = views.get(photo_id, owner="anna")
    assert (photo.width, photo.height) == (900, 600)
    assert [preview.size for preview in photo.previews] == ["small", "medium", "large"]
    assert photo.exif is not None
    assert photo.exif["make"] == MAKE
    assert hand.registry.get_sample_value("safelight_preview_pixels_total") == 900 * 600


def test_sizes_with_the_same_bytes_are_one_object(
    hand: Hand, views: Views, photo_id: UUID, stored_files: Files, store: Store
) -> None:
    hand.finish(photo_id)
    small, medium, large = views.get(photo_id, owner="anna").previews
    assert (medium.width, large.width) == (900, 900)  # never enlarged
    assert medium.key == large.key != small.key
    assert {name for name in stored_files() if name.startswith("previews/")} == {small.key, medium.key}
    for preview in (small, medium, large):
        assert sha256(store.get(preview.key)).hexdigest() == preview.sha256


def test_new_previews_take_the_old_ones_place_and_their_files_go(
    hand: Hand, views: Views, photo_id: UUID, stored_files: Files
) -> None:
    hand.finish(photo_id)
    old = {preview.key for preview in views.get(photo_id, owner="anna").previews}
    hand.again(photo_id, "preview")
    hand.previews(photo_id)
    new = {preview.key for preview in views.get(photo_id, owner="anna").previews}
    assert not old & new
    assert {name for name in stored_files() if name.startswith("previews/")} == new


def test_a_preview_of_a_size_that_is_made_no_more_goes_with_the_next_ones(
    hand: Hand, views: Views, photo_id: UUID, database: Database, stored_files: Files, store: Store
) -> None:
    hand.finish(photo_id)
    store.put("previews/00/huge", b"x")
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO previews (photo_id, size, width, height, media_type, size_bytes, sha256, key)"
            " SELECT photo_id, 'huge', width, height, media_type, 1, sha256, 'previews/00/huge'"
            " FROM previews WHERE size = 'large'"
        )
    hand.again(photo_id, "preview")
    hand.previews(photo_id)
    assert [view.size for view in views.get(photo_id, owner="anna").previews] == ["small", "medium", "large"]
    assert "previews/00/huge" not in stored_files()


def test_previews_of_a_lost_task_are_taken_back(
    hand: Hand, photo_id: UUID, stored_files: Files, tmp_path: Path
) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg(2100, 40))
    rendering = render(tmp_path / "a.jpg", max_pixels=1_000_000)
    before = stored_files()
    during = []

    def lose() -> None:
        with hand.results.stored_previews(photo_id, 7, rendering):
            during.extend(stored_files())
            raise LeaseLost("someone else has it")

    with pytest.raises(LeaseLost):
        lose()
    assert len(during) == len(before) + 3
    assert stored_files() == before


def test_two_attempts_never_share_a_key(hand: Hand, photo_id: UUID, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg())
    rendering = render(tmp_path / "a.jpg", max_pixels=1_000_000)
    with (
        hand.results.stored_previews(photo_id, 1, rendering) as first,
        hand.results.stored_previews(photo_id, 1, rendering) as second,  # of another task
    ):
        assert not {preview.key for preview in first} & {preview.key for preview in second}
