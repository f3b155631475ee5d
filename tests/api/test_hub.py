"""One reader for all streams, and an end to those that don't read."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
import redis

import api.hub
import api.stream
from api.hub import Hub
from api.stream import Stream, StreamEnded
from config import Settings
from db.session import Database
from db.transaction import DatabaseAway
from photos.feed import Batch, Event, Feed, Position
from tasks.broker import connect
from tasks.wire import Wire
from tests.waiting import until


class CountingFeed(Feed):
    """A feed that counts how often it is read, and is away when told to be."""

    reads = 0
    away = False

    def after(self, position: Position, *, limit: int) -> Batch:
        self.reads += 1
        if self.away:
            raise DatabaseAway("away")
        return super().after(position, limit=limit)


def stream_of(owner: str, connection: socket.socket | None = None, *, photo_id: UUID | None = None) -> Stream:
    """A stream of an owner."""
    return Stream(owner, photo_id, "key", connection)


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection: (ours, the client's)."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def history(database: Database) -> CountingFeed:
    """The feed over the empty database."""
    return CountingFeed(database)


@pytest.fixture
def hub(history: CountingFeed, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that polls often; every key is live."""
    monkeypatch.setattr(api.hub, "POLL_S", 0.1)
    hub = Hub(history, Wire(connect(settings.redis_url), "task:*"), set)
    yield hub
    hub.stop()


def event(owner: str, photo_id: UUID | None = None) -> Event:
    """Something that happened to an owner's photo."""
    now = datetime.now(UTC)
    return Event(Position(1, 1), "photo-ready", now, owner, photo_id or uuid4(), "ready", None, None, {})


def tell(database: Database, owner: str) -> None:
    """A photo of an owner was deleted, and that is committed."""
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO events (type, subject, data)"
            " VALUES ('photo-deleted', gen_random_uuid(), jsonb_build_object('owner', CAST(:owner AS text)))",
            {"owner": owner},
        )


def test_a_stream_gets_its_owners_events_and_one_of_a_photo_that_photos() -> None:
    photo_id = uuid4()
    every, one = stream_of("anna"), stream_of("anna", photo_id=photo_id)
    for told in (event("bert"), event("anna"), event("anna", photo_id)):
        every.offer(told)
        one.offer(told)
    assert [told.owner for told in every.take(0)] == ["anna", "anna"]
    assert every.take(0) == []
    assert [told.photo_id for told in one.take(0)] == [photo_id]


def test_many_streams_cost_no_more_reads_than_one(
    hub: Hub, history: CountingFeed, database: Database
) -> None:
    streams = [stream_of(f"owner-{number % 2}") for number in range(100)]
    for stream in streams:
        hub.add(stream)
    begun = history.reads
    tell(database, "owner-0")
    told = [stream.take(10) for stream in streams[::2]]
    assert all(told)
    assert history.reads - begun < 20
    assert all(stream.is_idle for stream in streams[1::2])


def test_how_many_streams_are_open_is_told(history: CountingFeed, settings: Settings) -> None:
    told: list[int] = []
    hub = Hub(history, Wire(connect(settings.redis_url), "task:*"), set, told.append)
    first, second = stream_of("anna"), stream_of("bert")
    try:
        hub.add(first)
        hub.add(second)
        hub.remove(first)
        hub.remove(second)
    finally:
        hub.stop()
    assert told == [1, 2, 1, 0]


def test_without_streams_nobody_is_asked(hub: Hub, history: CountingFeed) -> None:
    stream = stream_of("anna")
    hub.add(stream)
    until(lambda: history.reads > 2)
    hub.remove(stream)
    reads = [history.reads]

    def is_quiet() -> bool:
        reads.append(history.reads)
        return len(reads) > 20 and reads[-1] == reads[-20]

    until(is_quiet)


def test_streams_go_on_when_the_database_is_back(hub: Hub, history: CountingFeed, database: Database) -> None:
    stream = stream_of("anna")
    hub.add(stream)
    history.away = True
    begun = history.reads
    tell(database, "anna")
    until(lambda: history.reads > begun + 1)
    assert stream.is_idle
    history.away = False
    assert stream.take(10) != []


def test_a_client_that_does_not_read_is_ended_and_its_connection_broken(
    hub: Hub, connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.stream, "_WAITING_MAX", 3)
    monkeypatch.setattr(api.stream, "_ABORT_S", 0.0)
    ours, theirs = connection
    stream, other = stream_of("slow", ours), stream_of("other")
    hub.add(stream)
    hub.add(other)
    for _ in range(4):
        stream.offer(event("slow"))
    with pytest.raises(StreamEnded):
        stream.take(0)
    theirs.settimeout(10)
    assert theirs.recv(1) == b""
    assert other.take(0) == []


def test_a_client_that_went_is_noticed_before_anything_is_told(
    hub: Hub, connection: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = connection
    stream = stream_of("anna", ours)
    hub.add(stream)
    assert stream.take(0.5) == []
    theirs.close()
    with pytest.raises(StreamEnded):
        stream.take(10)


def test_a_hub_that_stopped_ends_its_streams_and_takes_none(hub: Hub) -> None:
    stream = stream_of("anna")
    hub.add(stream)
    hub.stop()
    with pytest.raises(StreamEnded):
        stream.take(5)
    with pytest.raises(StreamEnded):
        hub.add(stream_of("anna"))


def test_what_workers_say_on_redis_is_heard_long_before_the_next_look(
    hub: Hub, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.hub, "POLL_S", 60.0)
    stream = stream_of("anna")
    hub.add(stream)
    with redis.Redis.from_url(settings.redis_url) as client:
        tell(database, "anna")
        until(lambda: client.publish("task:completed:preview", "") >= 0 and not stream.is_idle)
    assert stream.take(0) != []
