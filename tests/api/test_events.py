"""Server-sent events, over the real rooms; tasks are done by hand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from flask import Flask
from werkzeug.test import TestResponse

import api.events
import api.hub
from api.hub import Hub
from api.keys import Keys
from app import create_app
from config import Settings
from db.session import Database
from embedded.ports import any_free_port
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


@dataclass(frozen=True)
class Told:
    """One block of a stream that told something."""

    id: str
    type: str
    data: dict[str, Any]


class Listener:
    """Reads one stream, block by block."""

    def __init__(self, response: TestResponse) -> None:
        self.response = response
        self.last_id = ""
        self.comments = 0
        self._chunks = (chunk.decode() for chunk in response.iter_encoded())

    def blocks(self) -> Iterator[Told]:
        """What is told, until the stream ends."""
        text = ""
        for chunk in self._chunks:
            text += chunk
            while "\n\n" in text:
                block, _, text = text.partition("\n\n")
                lines = [line.partition(": ") for line in block.splitlines()]
                self.comments += sum(name.startswith(":") for name, _, _ in lines)
                fields = {name: value for name, _, value in lines}
                self.last_id = fields.get("id", self.last_id)
                if "event" in fields:
                    yield Told(self.last_id, fields["event"], json.loads(fields["data"]))

    def until(self, event: str) -> list[Told]:
        """Read up to an event, itself included."""
        found = []
        for told in self.blocks():
            found.append(told)
            if told.type == event:
                return found
        raise AssertionError(f"the stream ended without {event}: {found}")

    def quiet(self) -> None:
        """Read up to the next comment, before which nothing may be told."""
        before = self.comments
        for chunk in self._chunks:
            assert "event:" not in chunk, chunk
            self.comments += chunk.startswith(":")
            if self.comments > before:
                return


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.events, "KEEP_ALIVE_S", 1.0)
    monkeypatch.setattr(api.hub, "POLL_S", 0.2)


@contextmanager
def listening(app: Flask, path: str, headers: dict[str, str]) -> Iterator[Listener]:
    """A stream that was accepted; it is closed after the block."""
    response = app.test_client().open(path, headers=headers, buffered=False)
    try:
        assert response.status_code == 200, response.data
        yield Listener(response)
    finally:
        response.close()


@pytest.fixture
def key(auth: Auth) -> dict[str, str]:
    """Headers of Anna's key."""
    return auth("anna")


def upload(client: Client, key: dict[str, str], seed: int = 1) -> str:
    """Upload a photo; returns its id."""
    return str(client.post("/v1/photos", data=jpeg(8, 8, seed=seed), headers=key).json["id"])


def test_a_photos_life_is_told_as_it_happens(
    app: Flask, client: Client, key: dict[str, str], hand: Hand
) -> None:
    with listening(app, "/v1/events", key) as stream:
        assert stream.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert stream.response.headers["Cache-Control"] == "no-store"
        assert stream.response.headers["X-Accel-Buffering"] == "no"
        photo_id = upload(client, key)
        hand.finish(photo_id)
        told = stream.until("photo-ready")
    assert [event.type for event in told] == [
        "photo-accepted",
        "task-submitted",
        "task-submitted",
        "task-started",
        "task-completed",
        "task-started",
        "task-completed",
        "photo-ready",
    ]
    assert {event.data["photo_id"] for event in told} == {photo_id}
    assert told[-1].data["photo_state"] == "ready"
    started = told[3].data
    assert (started["kind"], started["task_state"], started["attempt"]) == ("preview", "processing", 1)
    assert started["task_id"]


def test_nobody_is_told_who_asked(app: Flask, client: Client, key: dict[str, str]) -> None:
    with listening(app, "/v1/events", key) as stream:
        upload(client, key)
        [accepted] = stream.until("photo-accepted")
    assert set(accepted.data) == {"photo_id", "photo_state", "at", "size_bytes", "media_type"}


def test_a_failure_is_told_with_its_type(app: Flask, client: Client, key: dict[str, str], hand: Hand) -> None:
    photo_id = upload(client, key)
    with listening(app, f"/v1/photos/{photo_id}/events", key) as stream:
        hand.previews(photo_id)
        hand.fail(photo_id, "exif", error_type="corrupt-image", detail="it broke")
        told = stream.until("photo-failed")
    [failed] = [event for event in told if event.type == "task-failed"]
    assert failed.data["error_type"] == "corrupt-image"
    assert (failed.data["task_state"], failed.data["kind"]) == ("failed", "exif")


def test_another_owners_photos_are_not_told_of(
    app: Flask, client: Client, key: dict[str, str], auth: Auth
) -> None:
    with listening(app, "/v1/events", key) as stream:
        upload(client, auth("bert"))
        mine = upload(client, key)
        [first] = stream.until("photo-accepted")
    assert first.data["photo_id"] == mine


def test_a_photos_stream_tells_of_it_alone_and_ends_with_its_deletion(
    app: Flask, client: Client, key: dict[str, str]
) -> None:
    photo_id = upload(client, key)
    with listening(app, f"/v1/photos/{photo_id}/events", key) as stream:
        upload(client, key, 2)
        client.ask("DELETE", f"/v1/photos/{photo_id}", headers=key)
        told = list(stream.blocks())
    assert {event.data["photo_id"] for event in told} == {photo_id}
    assert told[-1].type == "photo-deleted"
    assert told[-1].data["photo_state"] is None
    assert "task-cancelled" in {event.type for event in told}


@pytest.mark.parametrize("way", ["header", "query"])
def test_who_comes_again_reads_on_from_where_he_was(
    app: Flask, client: Client, key: dict[str, str], hand: Hand, way: str
) -> None:
    with listening(app, "/v1/events", key) as stream:
        photo_id = upload(client, key)
        [accepted] = stream.until("photo-accepted")
    hand.finish(photo_id)
    if way == "header":
        path, headers = "/v1/events?last_event_id=overruled", {**key, "Last-Event-ID": accepted.id}
    else:
        path, headers = f"/v1/events?last_event_id={accepted.id}", key
    with listening(app, path, headers) as stream:
        told = [event.type for event in stream.until("photo-ready")]
        stream.quiet()
    assert told == ["task-submitted"] * 2 + ["task-started", "task-completed"] * 2 + ["photo-ready"]


def test_an_idle_streams_id_moves_on_so_that_nothing_is_lost_in_between(
    app: Flask, client: Client, key: dict[str, str], auth: Auth
) -> None:
    with listening(app, "/v1/events", key) as stream:
        next(stream._chunks)
        stream.quiet()
        upload(client, auth("bert"))
        for _ in range(3):
            stream.quiet()
        stream.last_id = next(stream._chunks).partition("id: ")[2].strip()
    photo_id = upload(client, key)
    with listening(app, "/v1/events", {**key, "Last-Event-ID": stream.last_id}) as again:
        [first] = again.until("photo-accepted")
    assert first.data["photo_id"] == photo_id


def test_an_id_of_which_nothing_is_known_or_that_is_too_old_has_the_client_begin_anew(
    app: Flask, client: Client, key: dict[str, str], settings: Settings
) -> None:
    old = f"3-0-{int(time.time() - settings.retention_s)}"
    future = f"{2**62}-0-{int(time.time())}"
    for last_id, reason in [("x", "unknown"), ("1-2", "unknown"), (future, "unknown"), (old, "too-old")]:
        with listening(app, "/v1/events", {**key, "Last-Event-ID": last_id}) as stream:
            [reset] = stream.until("reset")
            assert reset.data == {"reason": reason}
            photo_id = upload(client, key, seed=len(last_id))
            assert stream.until("photo-accepted")[0].data["photo_id"] == photo_id


def test_who_missed_too_much_begins_anew(
    app: Flask, client: Client, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(app, "/v1/events", key) as stream:
        upload(client, key)
        [accepted] = stream.until("photo-accepted")
    monkeypatch.setattr("photos.feed.REPLAY_MAX", 1)
    with listening(app, "/v1/events", {**key, "Last-Event-ID": accepted.id}) as stream:
        assert stream.until("reset")[0].data == {"reason": "too-old"}


def test_a_stream_needs_a_key_and_a_photo_of_its_owner(
    client: Client, key: dict[str, str], auth: Auth
) -> None:
    photo_id = upload(client, key)
    assert client.get("/v1/events").status == 401
    assert client.get("/v1/events", headers=auth("anna", "photos:write")).status == 403
    for identity, who in ((photo_id, auth("bert")), (str(uuid4()), key)):
        answer = client.get(f"/v1/photos/{identity}/events", headers=who)
        assert (answer.status, answer.json["code"]) == (404, "photo-not-found")


def test_beyond_the_places_streams_are_refused_and_waits_are_answered_at_once(
    settings: Settings, client: Client, key: dict[str, str]
) -> None:
    photo_id = upload(client, key)
    small = create_app(replace(settings, api_waiting=1))
    with listening(small, "/v1/events", key):
        refused = Client(small).get("/v1/events", headers=key)
        assert (refused.status, refused.json["code"]) == (503, "too-many-streams")
        assert int(refused.headers["Retry-After"]) > 0
        answer = Client(small).get(f"/v1/photos/{photo_id}", headers={**key, "Prefer": "wait=30"})
        assert (answer.status, answer.json["state"]) == (200, "processing")
        assert "Preference-Applied" not in answer.headers
    for _ in range(2):  # each gives its place back, one that was refused too
        assert Client(small).get(f"/v1/photos/{uuid4()}/events", headers=key).status == 404
        with listening(small, "/v1/events", key):
            pass
    small.extensions["safelight.hub"].stop()


def test_a_revoked_keys_stream_ends(
    app: Flask, database: Database, make_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.hub, "_KEYS_S", 0.2)
    text = make_key("anna")
    with listening(app, "/v1/events", {"Authorization": f"Bearer {text}"}) as stream:
        Keys(database).revoke(text.split("_")[1])
        assert list(stream.blocks()) == []


def test_a_process_that_stops_ends_its_streams_and_takes_no_more(
    app: Flask, client: Client, key: dict[str, str]
) -> None:
    alive = True
    hub: Hub = app.extensions["safelight.hub"]
    hub.watch(lambda: alive)
    with listening(app, "/v1/events", key) as stream:
        alive = False
        assert list(stream.blocks()) == []
    assert client.get("/v1/events", headers=key).status == 503


def test_without_redis_all_is_told_all_the_same(
    settings: Settings, client: Client, key: dict[str, str], hand: Hand
) -> None:
    away = create_app(replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0"))
    with listening(away, "/v1/events", key) as stream:
        photo_id = upload(client, key)
        hand.finish(photo_id)
        assert stream.until("photo-ready")[-1].data["photo_id"] == photo_id
    away.extensions["safelight.hub"].stop()
