"""Event streams from the whole service: live, over restarts, and behind transactions that commit late."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from uuid import uuid4

import psycopg2
import pytest

from tests.pictures import jpeg
from tests.sse import Listener
from tests.stack import Stack
from tests.waiting import until

_TELL = "INSERT INTO events (type, subject) VALUES (%s, %s)"


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


def listen(stack: Stack, key: dict[str, str], path: str = "/v1/events", last_id: str = "") -> Listener:
    """A stream, from where the client was if it says so."""
    headers = {**key, "Last-Event-ID": last_id} if last_id else key
    return Listener(stack.settings.port, path, headers)


def test_an_upload_is_told_of_until_it_is_ready(stack: Stack, key: dict[str, str]) -> None:
    with listen(stack, key) as stream:
        photo = stack.upload(jpeg(seed=100), key)
        stream.wait("photo-ready", photo["id"])
    told = stream.types(photo["id"])
    assert told[0] == "photo-accepted"
    assert told[-1] == "photo-ready"
    assert told.count("task-completed") == 2
    assert stream.status == 200


def test_who_was_away_when_a_transaction_committed_late_is_told_of_it(
    stack: Stack, key: dict[str, str]
) -> None:
    first = stack.upload(jpeg(seed=101), key)
    with closing(psycopg2.connect(stack.settings.database_url)) as late:
        with listen(stack, key) as stream:
            with late.cursor() as cursor:
                cursor.execute(_TELL, ("photo-ready", first["id"]))
            second = stack.upload(jpeg(seed=102), key)
            until(lambda: stream.last_id != "")
        late.commit()
    with listen(stack, key, last_id=stream.last_id) as again:
        again.wait("photo-ready", second["id"])
        again.wait("photo-ready", first["id"])
    ids = [identity for identity, _, _ in stream.events + again.events]
    assert len(ids) == len(set(ids))
    assert (stream.types() + again.types()).count("photo-accepted") >= 1


@pytest.mark.slow
def test_over_restarts_of_the_api_nothing_is_lost_and_nothing_told_twice(
    stack: Stack, key: dict[str, str]
) -> None:
    ids, told = [], []
    last_id = ""
    for number in range(2):
        with listen(stack, key, last_id=last_id) as stream:
            ids.append(stack.upload(jpeg(seed=110 + number), key)["id"])
            stream.wait("photo-accepted", ids[-1])
            before = stack.pids("api")
            os.kill(stack._running["api"].pid, signal.SIGHUP)  # gunicorn's graceful restart
            until(lambda: stream.ended, timeout_s=8)
            until(lambda: set(stack.pids("api")).isdisjoint(before), timeout_s=20)  # noqa: B023
        told += stream.events
        last_id = stream.last_id
        ids.append(stack.upload(jpeg(seed=120 + number), key)["id"])
    with listen(stack, key, last_id=last_id) as stream:
        stream.wait("photo-ready", ids[-1])
    told += stream.events
    assert len({identity for identity, _, _ in told}) == len(told)
    kinds = [(data["photo_id"], kind) for _, kind, data in told]
    for photo_id in ids:
        assert kinds.count((photo_id, "photo-accepted")) == 1
        assert kinds.count((photo_id, "task-completed")) == 2
        assert kinds.count((photo_id, "photo-ready")) == 1


def test_a_client_that_went_gives_its_place_back(stack: Stack, key: dict[str, str]) -> None:
    for _ in range(3):
        with listen(stack, key) as stream:
            until(lambda: stream.last_id != "")
    assert stream.status == 200
