"""A photo's state, from the tasks that it needs."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from db.session import Database
from observability.metrics import FAULTS, PhotoMetrics
from photos.intake import Intake
from photos.states import PhotoStates
from tasks.dead_letters import DeadLetters
from tests.hand import Hand
from tests.pictures import jpeg


@pytest.fixture
def photo_id(intake: Intake) -> UUID:
    """A photo that was just taken in."""
    upload = intake.upload()
    upload.write(jpeg())
    return intake.accept(upload, owner="anna", filename=None).id


def state_of(database: Database, photo_id: UUID) -> str:
    """The photo's state, checked against `ready_at`."""
    with database.transaction() as tx:
        row = tx.execute("SELECT state, ready_at FROM photos WHERE id = :id", {"id": photo_id}).one()
    assert (row.state == "ready") == (row.ready_at is not None)
    return str(row.state)


def events_of(database: Database, photo_id: UUID) -> list[str]:
    """The photo's own events, in their order."""
    query = "SELECT type FROM events WHERE subject = :id AND task_id IS NULL ORDER BY id"
    with database.transaction() as tx:
        return list(tx.execute(query, {"id": photo_id}).scalars())


_SET = """
UPDATE tasks
SET state = :state, worker = 'w', started_at = now(), error_type = 'crash',
    finished_at = CASE WHEN :state NOT IN ('pending', 'queued', 'processing') THEN now() END,
    queued_at = CASE WHEN :state = 'queued' THEN now() END,
    lease_until = CASE WHEN :state = 'processing' THEN now() END,
    lease_limit = CASE WHEN :state = 'processing' THEN now() END
WHERE subject = :photo_id AND kind = :kind
"""


@pytest.mark.parametrize(
    ("of_tasks", "state"),
    [
        (["completed", "completed"], "ready"),
        (["completed", "queued"], "processing"),
        (["pending", "failed"], "processing"),
        (["processing", "completed"], "processing"),
        (["failed", "completed"], "failed"),
        (["cancelled", "completed"], "failed"),
        (["discarded", "completed"], "failed"),
        (["failed", "failed"], "failed"),
    ],
)
def test_the_state_follows_from_the_newest_tasks(
    database: Database, hand: Hand, photo_id: UUID, of_tasks: list[str], state: str
) -> None:
    for kind, task_state in zip(("preview", "exif"), of_tasks, strict=True):
        with database.transaction() as tx:
            tx.execute(_SET, {"photo_id": photo_id, "kind": kind, "state": task_state})
    with database.transaction() as tx:
        tx.execute("UPDATE photos SET state = 'processing'")
        hand.states.settle(tx, photo_id)
    assert state_of(database, photo_id) == state


def test_a_photo_is_ready_when_its_last_task_is_and_says_so_once(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    hand.exif(photo_id)
    assert state_of(database, photo_id) == "processing"
    hand.previews(photo_id)
    assert state_of(database, photo_id) == "ready"
    with database.transaction() as tx:
        hand.states.lock(tx, photo_id)
        hand.states.settle(tx, photo_id)
    assert events_of(database, photo_id) == ["photo-accepted", "photo-ready"]


def test_a_photo_that_is_processed_again_is_ready_again(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    hand.finish(photo_id)
    hand.again(photo_id, "preview")
    hand.previews(photo_id)
    assert state_of(database, photo_id) == "ready"


def test_a_photo_whose_second_try_succeeds_is_no_longer_failed(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    hand.previews(photo_id)
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="broken")
    assert state_of(database, photo_id) == "failed"
    hand.again(photo_id, "exif")
    hand.exif(photo_id)
    assert state_of(database, photo_id) == "ready"
    assert events_of(database, photo_id) == ["photo-accepted", "photo-failed", "photo-ready"]


def test_the_time_to_ready_is_measured_once_and_from_the_first_byte(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    registry = CollectorRegistry()
    states = PhotoStates(PhotoMetrics(registry))
    hand.finish(photo_id)
    with database.transaction() as tx:
        tx.execute("UPDATE photos SET state = 'processing', ready_at = NULL, first_ready_at = NULL")
        tx.execute("UPDATE photos SET received_at = clock_timestamp() - interval '50 seconds'")
    for _ in range(2):
        with database.transaction() as tx:
            states.settle(tx, photo_id)
    assert registry.get_sample_value("safelight_photo_ready_seconds_count") == 1
    seconds = registry.get_sample_value("safelight_photo_ready_seconds_sum")
    assert seconds is not None
    assert 50 <= seconds < 60


def test_a_photo_that_is_processed_anew_was_no_long_wait(
    database: Database, hand: Hand, photo_id: UUID
) -> None:
    """Else reprocessing last year's photos would use up the error budget."""
    registry = CollectorRegistry()
    states = PhotoStates(PhotoMetrics(registry))
    hand.finish(photo_id)
    with database.transaction() as tx:
        tx.execute("UPDATE photos SET state = 'processing', ready_at = NULL")
    with database.transaction() as tx:
        states.settle(tx, photo_id)
    assert state_of(database, photo_id) == "ready"
    assert registry.get_sample_value("safelight_photo_ready_seconds_count") == 0


@pytest.mark.parametrize(("error_type", "fault"), [("corrupt-image", "upload"), ("worker-lost", "service")])
def test_a_photo_that_failed_is_counted_by_whose_fault_it_was(
    database: Database, hand: Hand, photo_id: UUID, error_type: str, fault: str
) -> None:
    registry = CollectorRegistry()
    states = PhotoStates(PhotoMetrics(registry))
    hand.previews(photo_id)
    hand.fail(photo_id, "exif", error_type=error_type, detail="broken")
    with database.transaction() as tx:
        tx.execute("UPDATE photos SET state = 'processing'")
    for _ in range(2):
        with database.transaction() as tx:
            states.settle(tx, photo_id)
    counted = {of: registry.get_sample_value("safelight_photos_failed_total", {"fault": of}) for of in FAULTS}
    assert counted == {of: float(of == fault) for of in FAULTS}


def test_settling_a_photo_that_is_gone_does_nothing(database: Database, hand: Hand) -> None:
    gone = uuid4()
    with database.transaction() as tx:
        hand.states.lock(tx, gone)
        hand.states.settle(tx, gone)
    assert events_of(database, gone) == []


def test_a_photo_whose_older_task_was_requeued_and_done_is_ready(
    database: Database, photo_id: UUID, hand: Hand
) -> None:
    letters = DeadLetters(database, hand.states)
    hand.exif(photo_id)
    first = UUID(hand.task(photo_id, "preview"))
    hand.fail(photo_id, "preview", error_type="object-missing", detail="gone")
    hand.again(photo_id, "preview")
    hand.fail(photo_id, "preview", error_type="time-limit", detail="slow")
    assert letters.requeue(first) == "requeued"
    with database.transaction() as tx:
        tx.execute("UPDATE tasks SET state = 'queued', queued_at = now() WHERE state = 'pending'")
    hand.previews(photo_id)
    assert state_of(database, photo_id) == "ready"


def test_pruning_changes_no_photos_state(database: Database, photo_id: UUID, hand: Hand) -> None:
    letters = DeadLetters(database, hand.states)
    letters.cancel(UUID(hand.task(photo_id, "preview")))
    dead = UUID(hand.task(photo_id, "exif"))
    hand.fail(photo_id, "exif", error_type="time-limit", detail="slow")
    with database.transaction() as tx:
        tx.execute("DELETE FROM tasks WHERE state = 'cancelled'")
    letters.requeue(dead)
    with database.transaction() as tx:
        tx.execute("UPDATE tasks SET state = 'queued', queued_at = now() WHERE state = 'pending'")
    hand.exif(photo_id)
    assert state_of(database, photo_id) == "failed"  # there are no previews, and none are coming
    hand.again(photo_id, "preview")
    hand.previews(photo_id)
    with database.transaction() as tx:
        tx.execute("DELETE FROM tasks")
        hand.states.settle(tx, photo_id)
    assert state_of(database, photo_id) == "ready"
