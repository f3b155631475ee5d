"""The history of events, read on from any place, whatever order transactions commit in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import UUID, uuid4

import psycopg2
import pytest

from db.session import Database
from photos import feed
from photos.feed import Event, Feed, Position
from tests.waiting import until

_TELL = "INSERT INTO events (type, subject) VALUES (%s, %s) RETURNING xid::text::bigint"


@pytest.fixture
def history(database: Database) -> Feed:
    """The feed over the empty database."""
    return Feed(database)


@contextmanager
def connected(url: str) -> Iterator[psycopg2.extensions.connection]:
    """A connection whose transactions the test ends itself."""
    with closing(psycopg2.connect(url)) as connection:
        yield connection


def tell(connection: psycopg2.extensions.connection, event: str, photo_id: UUID) -> int:
    """Write an event, and commit nothing; returns the transaction's number."""
    with connection.cursor() as cursor:
        cursor.execute(_TELL, (event, str(photo_id)))
        return int(cursor.fetchone()[0])


def types(events: tuple[Event, ...]) -> list[str]:
    """What happened, in order."""
    return [event.type for event in events]


def settled(history: Feed, position: Position, wanted: int) -> list[str]:
    """The events after a position, once there are as many as are wanted; other tests' backends may run."""
    until(lambda: len(history.after(position, limit=100).events) >= wanted)
    return types(history.after(position, limit=100).events)


def test_an_event_that_commits_late_is_neither_skipped_nor_told_out_of_order(
    history: Feed, migrated_url: str
) -> None:
    photo_id, start = uuid4(), history.horizon().mark.position
    with connected(migrated_url) as early, connected(migrated_url) as late:
        first = tell(early, "first", photo_id)
        assert tell(late, "second", photo_id) > first
        late.commit()
        batch = history.after(start, limit=100)
        assert batch.events == ()
        assert batch.held_up
        assert batch.mark.position < Position(first, 1)
        early.commit()
        assert settled(history, batch.mark.position, 2) == ["first", "second"]


def test_an_event_whose_transaction_fails_holds_up_nobody_for_good(history: Feed, migrated_url: str) -> None:
    start = history.horizon().mark.position
    with connected(migrated_url) as early, connected(migrated_url) as late:
        tell(early, "first", uuid4())
        tell(late, "second", uuid4())
        late.commit()
        early.rollback()
        assert settled(history, start, 1) == ["second"]


def test_reading_page_by_page_gives_each_event_once_those_of_one_transaction_too(
    history: Feed, migrated_url: str
) -> None:
    position, photo_id = history.horizon().mark.position, uuid4()
    with connected(migrated_url) as connection:
        for number in range(7):
            tell(connection, str(number), photo_id)
        connection.commit()
    settled(history, position, 7)
    found: list[str] = []
    more = True
    while more:
        batch = history.after(position, limit=2)
        position, more = batch.mark.position, batch.more
        found += types(batch.events)
    assert found == [str(number) for number in range(7)]
    assert history.after(position, limit=2).events == ()


def photo(database: Database, owner: str) -> UUID:
    """A photo's row."""
    photo_id = uuid4()
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO photos (id, owner, state, media_type, size_bytes, sha256, original_key, received_at)"
            " VALUES (:id, :owner, 'processing', 'image/jpeg', 1, sha256(CAST(:key AS bytea)), :key, now())",
            {"id": photo_id, "owner": owner, "key": photo_id.hex},
        )
    return photo_id


def test_a_replay_has_an_owners_events_or_one_photos_up_to_a_place(
    history: Feed, database: Database, migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_PAGE", 2)
    start = history.horizon().mark.position
    mine, also_mine, theirs = photo(database, "anna"), photo(database, "anna"), photo(database, "bert")
    with connected(migrated_url) as connection:
        for number in range(3):
            for photo_id in (mine, also_mine, theirs):
                tell(connection, str(number), photo_id)
            connection.commit()
    settled(history, start, 9)
    end = history.horizon().mark.position
    every = list(history.replay(start, end, owner="anna", photo_id=None))
    assert [event.type for event in every] == ["0", "0", "1", "1", "2", "2"]
    assert {event.photo_state for event in every} == {"processing"}
    one = list(history.replay(start, every[3].position, owner="anna", photo_id=mine))
    assert [(event.type, event.photo_id) for event in one] == [("0", mine), ("1", mine)]
    assert list(history.replay(start, end, owner="anna", photo_id=theirs)) == []


def test_a_deleted_photos_events_are_still_its_owners_alone(
    history: Feed, database: Database, migrated_url: str
) -> None:
    start, gone, unknown = history.horizon().mark.position, uuid4(), uuid4()
    with connected(migrated_url) as connection:
        tell(connection, "task-cancelled", gone)
        tell(connection, "task-cancelled", unknown)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO events (type, subject, data)"
                " VALUES ('photo-deleted', %s, jsonb_build_object('owner', 'anna'))",
                (str(gone),),
            )
        connection.commit()
    settled(history, start, 3)
    end = history.horizon().mark.position
    told = list(history.replay(start, end, owner="anna", photo_id=None))
    assert [(event.type, event.photo_id, event.photo_state) for event in told] == [
        ("task-cancelled", gone, None),
        ("photo-deleted", gone, None),
    ]
    assert list(history.replay(start, end, owner="bert", photo_id=None)) == []


def test_who_is_far_behind_is_told_apart(
    history: Feed, migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "REPLAY_MAX", 2)
    start = history.horizon().mark.position
    with connected(migrated_url) as connection:
        for number in range(3):
            assert not history.is_far_behind(start), number
            tell(connection, "photo-ready", uuid4())
            connection.commit()
    assert history.is_far_behind(start)
