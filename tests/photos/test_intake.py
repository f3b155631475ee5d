"""Taking photos in: nothing accepted is lost, nothing refused is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import redis
from prometheus_client import CollectorRegistry

from config import Settings
from db.session import Database
from db.transaction import DatabaseAway
from embedded.ports import any_free_port
from imaging.errors import NotAnImage
from observability.metrics import PhotoMetrics
from photos.errors import EmptyUpload, UploadTooLarge, UploadTooSlow
from photos.intake import LONGEST_S, Intake
from photos.kinds import KINDS, REQUIRED
from photos.photo import Accepted
from photos.upkeep import ORPHAN_AGE_S
from storage.store import Store
from tasks.broker import connect, make_broker
from tasks.courier import Courier
from tasks.submit import Submitter
from tests.pictures import jpeg

Files = Callable[[], list[str]]


def take(intake: Intake, data: bytes, *, owner: str = "anna", filename: str | None = "a.jpg") -> Accepted:
    """Upload in pieces, as a socket gives them."""
    upload = intake.upload()
    for at in range(0, len(data), 1000):
        upload.write(data[at : at + 1000])
    return intake.accept(upload, owner=owner, filename=filename)


def test_an_accepted_photos_bytes_are_in_the_store_and_described_in_its_row(
    intake: Intake, database: Database, store: Store
) -> None:
    accepted = take(intake, jpeg())
    assert accepted.created
    with database.transaction() as tx:
        row = tx.execute("SELECT * FROM photos").one()
    assert (row.id, row.owner, row.state, row.filename) == (accepted.id, "anna", "processing", "a.jpg")
    assert (row.size_bytes, row.media_type) == (len(jpeg()), "image/jpeg")
    assert bytes(row.sha256) == hashlib.sha256(jpeg()).digest()
    assert store.get(row.original_key) == jpeg()


def test_the_upload_began_before_the_photo_was_created(intake: Intake, database: Database) -> None:
    take(intake, jpeg())
    with database.transaction() as tx:
        row = tx.execute("SELECT created_at - received_at AS took FROM photos").one()
    assert timedelta(0) < row.took < timedelta(seconds=30)


def test_its_message_is_sent_after_the_commit_and_holds_the_task_id(
    intake: Intake, database: Database, settings: Settings
) -> None:
    accepted = take(intake, jpeg())
    with database.transaction() as tx:
        query = (
            "SELECT kind, id, state, run_at > now() + interval '5 s' AS waits FROM tasks WHERE subject = :id"
        )
        tasks = {row.kind: row for row in tx.execute(query, {"id": accepted.id})}
    assert {kind: (row.state, row.waits) for kind, row in tasks.items()} == {
        "preview": ("queued", False),
        "exif": ("pending", True),  # for the previews' to take along
    }
    with redis.Redis.from_url(settings.redis_url, decode_responses=True) as client:
        assert client.lrange("dramatiq:preview", 0, -1) == [f"{tasks['preview'].id}.1"]
        assert client.lrange("dramatiq:exif", 0, -1) == []


def test_the_same_bytes_again_are_the_same_photo_and_no_new_work(
    intake: Intake, database: Database, stored_files: Files
) -> None:
    first = take(intake, jpeg(), filename="a.jpg")
    again = take(intake, jpeg(), filename="b.jpg")
    assert again == Accepted(first.id, created=False)
    assert len(stored_files()) == 1
    with database.transaction() as tx:
        assert tx.execute("SELECT filename FROM photos").scalar_one() == "a.jpg"
        assert tx.execute("SELECT count(*) FROM tasks").scalar_one() == 2
        told = list(tx.execute("SELECT type FROM events ORDER BY id").scalars())
        assert told == ["photo-accepted", "task-submitted", "task-submitted"]


def test_the_same_bytes_at_the_same_moment_are_one_photo(
    intake: Intake, database: Database, stored_files: Files
) -> None:
    with ThreadPoolExecutor(8) as pool:
        accepted = list(pool.map(lambda _: take(intake, jpeg()), range(16)))
    assert len({each.id for each in accepted}) == 1
    assert sum(each.created for each in accepted) == 1
    assert len(stored_files()) == 1
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM tasks").scalar_one() == 2


def test_what_is_no_photo_is_refused_at_its_first_bytes(intake: Intake, stored_files: Files) -> None:
    upload = intake.upload()
    with pytest.raises(NotAnImage):
        upload.write(b"text " * 1000)
    upload.abort()
    assert stored_files() == []


def test_a_short_file_that_is_no_photo_is_refused_at_its_end(intake: Intake, database: Database) -> None:
    upload = intake.upload()
    upload.write(b"text")
    with pytest.raises(NotAnImage):
        intake.accept(upload, owner="anna", filename=None)
    upload.abort()
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM photos").scalar_one() == 0


def test_an_empty_file_is_refused(intake: Intake) -> None:
    with pytest.raises(EmptyUpload):
        intake.accept(intake.upload(), owner="anna", filename=None)


def test_a_file_over_the_limit_is_refused_while_it_comes(intake: Intake, settings: Settings) -> None:
    upload = intake.upload()
    upload.write(jpeg())
    upload.size_bytes = settings.max_upload_bytes
    with pytest.raises(UploadTooLarge):
        upload.write(b"x")
    upload.abort()


def test_an_upload_ends_before_the_sweep_could_take_its_object_for_an_orphan(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LONGEST_S < ORPHAN_AGE_S - 600
    upload = intake.upload()
    upload.write(jpeg())
    monkeypatch.setattr("photos.intake.LONGEST_S", -1.0)
    with pytest.raises(UploadTooSlow):
        upload.write(b"x")
    upload.abort()


def test_what_is_aborted_leaves_nothing(intake: Intake, stored_files: Files) -> None:
    upload = intake.upload()
    upload.write(jpeg())
    upload.abort()
    assert stored_files() == []


def test_uploads_are_counted_by_their_bytes_and_only_once(
    intake: Intake, photo_registry: CollectorRegistry
) -> None:
    take(intake, jpeg())
    take(intake, jpeg())
    assert photo_registry.get_sample_value("safelight_upload_bytes_total") == len(jpeg())


def test_while_redis_is_away_photos_are_taken_and_their_tasks_wait(
    database: Database, store: Store, settings: Settings
) -> None:
    away = Courier(make_broker(connect(f"redis://127.0.0.1:{any_free_port()}/0")))
    submitter = Submitter(away, KINDS, window=10)
    metrics = PhotoMetrics(CollectorRegistry())
    intake = Intake(database, store, submitter, metrics, max_bytes=settings.max_upload_bytes)
    accepted = take(intake, jpeg())
    with database.transaction() as tx:
        query = "SELECT count(*) FROM tasks WHERE subject = :id AND state IN ('pending', 'queued')"
        assert tx.execute(query, {"id": accepted.id}).scalar_one() == 2


def test_while_postgres_is_away_nothing_is_accepted_and_the_object_stays_for_the_sweep(
    store: Store, settings: Settings, stored_files: Files
) -> None:
    away = Database(f"postgresql://nobody@127.0.0.1:{any_free_port()}/none")
    submitter = Submitter(Courier(make_broker(connect(settings.redis_url))), KINDS, window=10)
    metrics = PhotoMetrics(CollectorRegistry())
    intake = Intake(away, store, submitter, metrics, max_bytes=settings.max_upload_bytes)
    with pytest.raises(DatabaseAway):
        take(intake, jpeg())
    assert len(stored_files()) == 1  # the commit's outcome might have been unknown


def test_the_same_file_heals_a_photo_whose_original_was_lost(
    intake: Intake, database: Database, store: Store, stored_files: Files
) -> None:
    first = take(intake, jpeg())
    with database.transaction() as tx:
        lost = tx.execute("SELECT original_key FROM photos").scalar_one()
        tx.execute(
            "UPDATE tasks SET state = 'failed', queued_at = NULL, finished_at = now(), error_type = 'x'"
        )
        tx.execute("UPDATE photos SET state = 'failed'")
    store.delete(lost)
    again = take(intake, jpeg())
    assert (again.id, again.created, again.healed) == (first.id, False, True)
    with database.transaction() as tx:
        row = tx.execute("SELECT original_key, state FROM photos").one()
        live = tx.execute("SELECT count(*) FROM tasks WHERE state IN ('queued', 'pending')").scalar_one()
    assert store.get(row.original_key) == jpeg()
    assert (row.state, live, len(stored_files())) == ("processing", len(REQUIRED), 1)
