"""A photo's story: complete, in order, and as long as anything is known."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from db.session import Database
from observability.logs import logging_with
from photos.deletion import Deletion
from photos.intake import Intake
from photos.story import Stories, Story
from storage.store import Store
from tasks.dead_letters import DeadLetters
from tests.hand import Hand
from tests.pictures import jpeg


@pytest.fixture
def photo_id(intake: Intake) -> UUID:
    """A photo that a traced request brought."""
    upload = intake.upload()
    upload.write(jpeg())
    with logging_with(request_id="r1", trace_id="a" * 32, key_id="k1"):
        return intake.accept(upload, owner="anna", filename="a.jpg").id


def told(story: Story, kind: str | None = None) -> list[str]:
    """What happened to the photo itself, or to its task of a kind."""
    return [moment.event for moment in story.moments if moment.kind == kind]


def test_it_begins_with_the_request_that_brought_the_photo(database: Database, photo_id: UUID) -> None:
    story = Stories(database).tell(photo_id)
    first = story.moments[0]
    assert first.event == "photo-accepted"
    assert {"request_id": "r1", "trace_id": "a" * 32, "key_id": "k1", "filename": "a.jpg"}.items() <= (
        first.details.items()
    )
    assert first.details["size_bytes"] == len(jpeg())
    assert told(story, "preview") == ["task-submitted", "task-is-queued"]
    assert told(story, "exif") == ["task-submitted", "task-is-pending"]
    assert {moment.details.get("trace_id") for moment in story.moments[:3]} == {"a" * 32}


def test_a_second_look_by_hand_is_told_with_who_did_it(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    hand.previews(photo_id)
    task_id = hand.task(photo_id, "exif")
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="it broke")
    with logging_with(by="cli:olga"):
        DeadLetters(database, hand.states).requeue(UUID(task_id))
    story = Stories(database).tell(UUID(task_id))
    assert story.photo_id == photo_id
    assert told(story, "exif") == [
        "task-submitted",
        "task-started",
        "task-failed",
        "task-requeued",
        "task-is-pending",
    ]
    assert told(story) == ["photo-accepted", "photo-failed", "photo-processing"]
    moments = {moment.event: moment for moment in story.moments if moment.kind == "exif"}
    assert moments["task-started"].details["worker"] == "by-hand"
    assert moments["task-started"].details["waited_s"] >= 0
    failed = moments["task-failed"].details
    assert (failed["attempt"], failed["error_type"], failed["error"]) == (1, "corrupt-image", "it broke")
    assert failed["ran_s"] >= 0
    assert moments["task-requeued"].details == {"by": "cli:olga"}
    assert moments["task-is-pending"].details["attempts"] == "0 of 5"


def test_each_attempt_of_many_is_told_with_its_own_number_and_next_try(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    task_id = hand.task(photo_id, "exif")
    for _ in range(2):
        with hand.work.claimed("exif", task_id) as claim:
            hand.work.snooze(claim, None, for_s=5)
        with database.transaction() as tx:
            tx.execute("UPDATE tasks SET state = 'queued', queued_at = now() WHERE state = 'pending'")
    hand.exif(photo_id)
    moments = [moment for moment in Stories(database).tell(photo_id).moments if moment.kind == "exif"]
    snoozed = [moment.details for moment in moments if moment.event == "task-snoozed"]
    assert [details["again_in_s"] for details in snoozed] == pytest.approx([5, 5], abs=0.5)
    assert moments[-1].event == "task-completed"
    assert [moment.details["attempt"] for moment in moments if "attempt" in moment.details] == [1] * 6


def test_a_deleted_photos_story_is_still_known(
    database: Database, store: Store, hand: Hand, photo_id: UUID
) -> None:
    hand.exif(photo_id)
    with logging_with(key_id="k2"):
        Deletion(database, store).delete(photo_id, owner="anna")
    story = Stories(database).tell(photo_id)
    assert told(story) == ["photo-accepted", "photo-deleted"]
    assert told(story, "preview") == ["task-submitted", "task-cancelled"]
    assert story.moments[-1].details == {"key_id": "k2", "owner": "anna"}
    assert "filename" not in story.moments[0].details


def test_without_events_the_row_tells_what_it_can(database: Database, photo_id: UUID) -> None:
    with database.transaction() as tx:
        tx.execute("DELETE FROM events")
    story = Stories(database).tell(photo_id)
    assert told(story) == ["photo-accepted"]
    assert told(story, "preview") == ["task-is-queued"]


def test_of_an_unknown_id_there_is_none(database: Database) -> None:
    with pytest.raises(LookupError, match="there is no photo and no task"):
        Stories(database).tell(uuid4())
