"""A reading is shared, and one that hangs holds up one thread."""

from __future__ import annotations

import itertools
import threading

import pytest

from observability.reading import Reading


def test_what_was_read_is_handed_out_again_while_it_is_fresh() -> None:
    count = itertools.count(1)
    reading = Reading(lambda: next(count), keep_s=3600)
    assert [reading.start().result(10)[1] for _ in range(3)] == [1, 1, 1]


def test_what_is_no_longer_fresh_is_read_again() -> None:
    count = itertools.count(1)
    reading = Reading(lambda: next(count), keep_s=0)
    assert [reading.start().result(10)[1] for _ in range(3)] == [1, 2, 3]


def test_a_failure_is_never_kept() -> None:
    calls = itertools.count(1)

    def read() -> int:
        if (call := next(calls)) == 1:
            raise ConnectionError("away")
        return call

    reading = Reading(read, keep_s=3600)
    with pytest.raises(ConnectionError):
        reading.start().result(10)
    assert reading.start().result(10)[1] == 2


def test_what_hangs_is_asked_once_however_many_wait_for_it() -> None:
    go_on, calls = threading.Event(), itertools.count(1)

    def read() -> int:
        call = next(calls)
        go_on.wait(30)
        return call

    reading = Reading(read, keep_s=3600)
    waiting = [reading.start() for _ in range(5)]
    assert not any(future.done() for future in waiting)
    go_on.set()
    assert {future.result(10)[1] for future in waiting} == {1}
