"""A background thread that survives what it does."""

from __future__ import annotations

import itertools
import logging
import math
import threading

import pytest

from observability.periodic import Periodic


def test_the_action_is_called_at_once_and_again_and_again() -> None:
    calls = itertools.count(1)
    third = threading.Event()
    periodic = Periodic("test", lambda: third.set() if next(calls) == 3 else None, interval_s=0.01)
    periodic.start()
    assert third.wait(10)
    periodic.stop()


def test_an_action_that_asks_for_it_is_called_again_sooner() -> None:
    calls = itertools.count(1)
    third = threading.Event()

    def action() -> float:
        if next(calls) < 3:
            return 0.01
        third.set()
        return math.inf

    periodic = Periodic("test", action, interval_s=3600)
    periodic.start()
    assert third.wait(10)
    periodic.stop()


def test_a_failure_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    calls = itertools.count(1)
    well = threading.Event()

    def action() -> None:
        call = next(calls)
        if call <= 3:
            raise ConnectionError("away")
        if call == 5:
            well.set()

    with caplog.at_level(logging.INFO, "observability.periodic"):
        periodic = Periodic("the relay", action, interval_s=0.01)
        periodic.start()
        assert well.wait(10)
        periodic.stop()
    assert [entry.getMessage() for entry in caplog.records] == [
        "the relay fails, and goes on trying: away",
        "the relay works again",
    ]


def test_stopping_waits_for_the_call_under_way_and_there_is_no_other() -> None:
    begun, go_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def action() -> None:
        begun.set()
        go_on.wait(10)
        ended.append("ended")

    periodic = Periodic("test", action, interval_s=0.0)
    periodic.start()
    assert begun.wait(10)
    threading.Timer(0.1, go_on.set).start()
    periodic.stop(timeout_s=10)
    assert ended == ["ended"]


def test_stopping_gives_up_on_a_call_that_hangs() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def action() -> None:
        begun.set()
        go_on.wait(60)

    periodic = Periodic("test", action, interval_s=0.0)
    periodic.start()
    assert begun.wait(10)
    periodic.stop(timeout_s=0.05)
    go_on.set()


def test_stopping_what_never_started_is_no_error() -> None:
    Periodic("test", lambda: None, interval_s=1).stop()
