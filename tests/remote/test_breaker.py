"""The breaker: a dead service is left alone, and tried now and then."""

from __future__ import annotations

import pytest

from remote.breaker import Breaker
from remote.errors import BreakerOpen, RemoteBusy, RemoteRejected, RemoteTrouble, RemoteUnreachable


class Site:
    """A breaker, its clock, and what it told."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.told: list[bool] = []
        self.breaker = Breaker(failures=3, open_s=30.0, told=self.told.append, clock=lambda: self.now_s)

    def call(self, error: Exception | None = None) -> None:
        """One call, and how it ends."""
        with self.breaker.guard():
            if error is not None:
                raise error

    def fail(self, times: int = 1, error: Exception | None = None) -> None:
        """Calls that fail."""
        error = error or RemoteTrouble("503")
        for _ in range(times):
            with pytest.raises(type(error)):
                self.call(error)


@pytest.fixture
def site() -> Site:
    """A closed breaker."""
    return Site()


def test_it_opens_after_failures_in_a_row_and_lets_nothing_through(site: Site) -> None:
    site.fail(2)
    site.call()
    site.fail(2)
    assert not site.breaker.is_open
    site.fail()
    assert (site.breaker.is_open, site.told) == (True, [True])
    site.now_s = 29.0
    with pytest.raises(BreakerOpen) as caught:
        site.call()
    assert caught.value.for_s == 1.0


def test_a_probe_that_goes_well_closes_it(site: Site) -> None:
    site.fail(3)
    site.now_s = 30.0
    site.call()
    site.call()
    assert (site.breaker.is_open, site.told) == (False, [True, False])


def test_a_probe_that_fails_keeps_it_open(site: Site) -> None:
    site.fail(3)
    site.now_s = 30.0
    site.fail()
    site.now_s = 59.0
    with pytest.raises(BreakerOpen):
        site.call()
    assert site.told == [True]


def test_one_probe_at_a_time_is_let_through(site: Site) -> None:
    site.fail(3)
    site.now_s = 30.0
    with site.breaker.guard(), pytest.raises(BreakerOpen):
        site.call()
    site.call()


def test_a_probe_without_a_connection_costs_its_task_nothing(site: Site) -> None:
    site.fail(3, RemoteUnreachable("refused"))
    site.now_s = 30.0
    with pytest.raises(BreakerOpen):
        site.call(RemoteUnreachable("refused"))


@pytest.mark.parametrize("error", [RemoteRejected("404"), RemoteBusy("429")])
def test_a_service_that_refuses_is_alive(site: Site, error: Exception) -> None:
    site.fail(2)
    site.fail(1, error)
    site.fail(2)
    assert not site.breaker.is_open
