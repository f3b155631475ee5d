"""What the drills' pager makes of Alertmanager's notifications."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator

import pytest

from bench.drills.pager import Pager
from bench.drills.run import Outcome


@pytest.fixture
def pager() -> Iterator[Pager]:
    """A pager that listens."""
    with Pager() as pager:
        yield pager


def notify(pager: Pager, receiver: str, status: str, **labels: str) -> None:
    """Send a notification of one alert, as Alertmanager does."""
    body = json.dumps({"alerts": [{"status": status, "labels": labels}]}).encode()
    with urllib.request.urlopen(pager.url(receiver), data=body, timeout=10) as answer:
        assert answer.status == 200


def test_it_knows_what_fired_for_whom_and_when_it_was_over(pager: Pager) -> None:
    begun_s = time.monotonic()
    notify(pager, "page", "firing", alertname="DependencyDown", dependency="redis")
    notify(pager, "page", "resolved", alertname="DependencyDown", dependency="redis")
    notify(pager, "ticket", "firing", alertname="RetryStorm", kind="exif")
    assert pager.fired("page", since_s=begun_s) == {"DependencyDown"}
    assert pager.fired("ticket", since_s=begun_s) == {"RetryStorm"}
    assert pager.fired("page", since_s=time.monotonic()) == set()
    redis = {"alertname": "DependencyDown", "dependency": "redis"}
    fired = pager.first(redis, firing=True, since_s=begun_s)
    over = pager.first(redis, firing=False, since_s=begun_s)
    assert fired
    assert over
    assert begun_s <= fired.at_s <= over.at_s
    assert pager.first({**redis, "dependency": "postgres"}, firing=True, since_s=begun_s) is None


def test_a_drill_is_good_only_if_its_alert_came_and_went_and_no_other_page_came() -> None:
    def outcome(fires_s: float | None, clears_s: float | None, *wrong: str) -> Outcome:
        return Outcome("stop-redis", "DependencyDown", fires_s, clears_s, wrong, ())

    assert outcome(80, 30).good
    assert not outcome(None, 30).good
    assert not outcome(80, None).good
    assert not outcome(80, 30, "QueueStalled").good
    assert "WRONG PAGES: QueueStalled" in str(outcome(80, None, "QueueStalled"))
    assert "never" in str(outcome(80, None))
