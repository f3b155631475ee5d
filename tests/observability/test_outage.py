"""An outage is told once, and its end."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from observability.outage import Outage
from tests.waiting import until


def test_an_outage_is_told_once_however_many_threads_meet_it(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage("redis", logging.getLogger(__name__))
    outage.worked()
    with caplog.at_level(logging.INFO), ThreadPoolExecutor(8) as pool:
        list(pool.map(outage.failed, [ConnectionError("away")] * 50))
        list(pool.map(lambda _: outage.worked(), range(50)))
        outage.failed(ConnectionError("away again"))
    assert [record.getMessage() for record in caplog.records] == [
        "redis fails, and goes on trying: away",
        "redis works again",
        "redis fails, and goes on trying: away again",
    ]


def test_what_fails_again_at_once_has_not_worked_yet(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage("redis", logging.getLogger(__name__), quiet_s=0.2)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            outage.failed(ConnectionError("stale"))
            outage.worked()
        assert len(caplog.records) == 1

        def over() -> bool:
            outage.worked()
            return len(caplog.records) == 2

        until(over)
    assert caplog.records[-1].getMessage() == "redis works again"
