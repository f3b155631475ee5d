"""`Prefer: wait=N`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg2
import pytest
from flask import Flask, request

from api.waiting import MAX_WAIT_S, wait_asked
from tests.hand import Hand
from tests.http import Answer, Client
from tests.pictures import jpeg
from tests.waiting import until

Auth = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ([], 0),
        (["wait=10"], 10),
        (["WAIT = 10"], 10),
        (['wait="10"'], 10),
        (["respond-async, wait=10"], 10),
        (["respond-async; wait=10"], 10),
        (["respond-async", "wait=10"], 10),
        (["wait=30"], MAX_WAIT_S),
        (["wait=31"], MAX_WAIT_S),
        (["wait=" + "9" * 400], MAX_WAIT_S),
        (["wait=0"], 0),
        (["wait=-1"], 0),
        (["wait=x"], 0),
        (["wait"], 0),
        (["nowait=10"], 0),
    ],
)
def test_the_wait_asked_for_is_found_and_bounded(app: Flask, headers: list[str], wait_s: float) -> None:
    with app.test_request_context(headers=[("Prefer", value) for value in headers]):
        assert wait_asked(request) == wait_s


def test_a_waiting_client_is_answered_when_its_photo_is_ready(app: Flask, auth: Auth, hand: Hand) -> None:
    client, key = Client(app), auth("anna")
    photo = client.post("/v1/photos", data=jpeg(), headers=key).json
    answers: list[Answer] = []

    def wait() -> None:
        answers.append(client.get(f"/v1/photos/{photo['id']}", headers={**key, "Prefer": "wait=30"}))

    begun_s = time.monotonic()
    waiting = threading.Thread(target=wait)
    waiting.start()
    hand.previews(photo["id"])
    assert waiting.is_alive()
    hand.exif(photo["id"])
    waiting.join(20)
    assert time.monotonic() - begun_s < 20
    assert answers[0].json["state"] == "ready"
    assert answers[0].headers["Preference-Applied"] == "wait=30"


def test_a_photo_that_is_finished_is_answered_at_once(client: Client, auth: Auth, hand: Hand) -> None:
    key = auth("anna")
    photo = client.post("/v1/photos", data=jpeg(), headers=key).json
    hand.finish(photo["id"])
    begun_s = time.monotonic()
    client.get(f"/v1/photos/{photo['id']}", headers={**key, "Prefer": "wait=30"})
    assert time.monotonic() - begun_s < 10


def test_a_client_whose_time_is_over_is_answered_what_there_is(client: Client, auth: Auth) -> None:
    key = auth("anna")
    photo = client.post("/v1/photos", data=jpeg(), headers=key).json
    answer = client.get(f"/v1/photos/{photo['id']}", headers={**key, "Prefer": "wait=1"})
    assert (answer.status, answer.json["state"]) == (200, "processing")
    assert answer.headers["Preference-Applied"] == "wait=1"


def test_a_client_that_does_not_ask_does_not_wait(client: Client, auth: Auth) -> None:
    key = auth("anna")
    photo = client.post("/v1/photos", data=jpeg(), headers=key).json
    assert "Preference-Applied" not in client.get(f"/v1/photos/{photo['id']}", headers=key).headers


@contextmanager
def waiting(app: Flask, key: dict[str, str]) -> Iterator[tuple[str, list[Answer]]]:
    """A new photo's id, and where the answer to a client that waits for it will be after the block."""
    client = Client(app)
    photo_id = client.post("/v1/photos", data=jpeg(), headers=key).json["id"]
    answers: list[Answer] = []

    def wait() -> None:
        answers.append(client.get(f"/v1/photos/{photo_id}", headers={**key, "Prefer": "wait=30"}))

    thread = threading.Thread(target=wait)
    begun_s = time.monotonic()
    thread.start()
    until(lambda: len(app.extensions["safelight.hub"]._streams) == 1)
    yield photo_id, answers
    thread.join(30)
    assert time.monotonic() - begun_s < 20


def test_a_waiting_client_is_answered_when_the_process_stops(app: Flask, auth: Auth) -> None:
    with waiting(app, auth("anna")) as (_, answers):
        app.extensions["safelight.hub"].stop()
    assert (answers[0].status, answers[0].json["state"]) == (200, "processing")


def test_a_waiting_client_is_answered_while_events_are_held_up(
    app: Flask, auth: Auth, hand: Hand, migrated_url: str
) -> None:
    with closing(psycopg2.connect(migrated_url)) as old, old.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()")  # nothing after it can be told before it ends
        with waiting(app, auth("anna")) as (photo_id, answers):
            hand.finish(photo_id)
    assert answers[0].json["state"] == "ready"
