"""SIGTERM: it is announced, what is under way ends well, and then the process does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until

DRAIN_S, GRACE_S = 3.0, 20.0


@pytest.fixture
def stack(own_stack: Callable[..., Stack]) -> Stack:
    """A service that the test may end."""
    return own_stack(drain_s=DRAIN_S, grace_s=GRACE_S)


def test_on_sigterm_the_end_is_announced_and_uploads_under_way_are_taken(stack: Stack) -> None:
    key = stack.key("anna")
    data, held = jpeg(1600, 1200) + bytes(2_000_000), threading.Event()

    def slowly() -> Iterator[bytes]:
        yield data[:1_500_000]
        held.wait(60)
        yield data[1_500_000:]

    with ThreadPoolExecutor(1) as client:
        upload = client.submit(stack.ask, "POST", "/v1/photos", body=slowly(), headers=key)
        until(lambda: bool(stack.stored_files()))
        stack.terminate("api")
        until(lambda: stack.ask("GET", "/readyz").status == 503)
        leaving = stack.ask("GET", "/readyz").json
        assert (leaving["status"], leaving["dependencies"]["postgres"]) == ("leaving", True)
        assert stack.ask("GET", "/v1/photos", headers=key).status == 200  # all goes on meanwhile
        until(lambda: not stack.takes_requests(), timeout_s=DRAIN_S + 5)
        assert not stack.has_ended("api")
        held.set()
        answer = upload.result(30)
    assert answer.status == 202
    until(lambda: stack.has_ended("api"))
    assert [str(row.id) for row in stack.query("SELECT id FROM photos")] == [answer.json["id"]]


def test_without_anything_under_way_the_api_ends_with_its_announcement(stack: Stack) -> None:
    stack.terminate("api")
    until(lambda: stack.has_ended("api"), timeout_s=DRAIN_S + 5)
