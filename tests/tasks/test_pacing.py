"""A queue with a rate: never above it, never far below it, whoever leads."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.session import Database
from tasks.pacing import Pace
from tasks.queues import UnknownQueue
from tests.tasks.layer import JOIN, RERUN, SLOW, Layer
from tests.waiting import until

_START = datetime(2026, 1, 1, tzinfo=UTC)


def paced(rate_per_s: float, times_s: list[float], demand: int = 10**6) -> list[int]:
    """What is published in rounds at those seconds after the rate was set."""
    pace = Pace("q", rate_per_s, _START, _START)
    published = []
    for at_s in times_s:
        pace = Pace("q", rate_per_s, _START + timedelta(seconds=at_s), pace.paced_until)
        published.append(min(demand, pace.room))
        pace = pace.after(published[-1])
    return published


@given(
    st.floats(0.01, 5_000),
    st.lists(st.floats(0.001, 30), min_size=2, max_size=60),
)
def test_no_stretch_of_time_has_more_than_its_rate_and_a_burst(
    rate_per_s: float, pauses_s: list[float]
) -> None:
    times_s = [sum(pauses_s[:n]) for n in range(len(pauses_s))]
    published = paced(rate_per_s, times_s)
    for first in range(len(times_s)):
        for last in range(first, len(times_s)):
            stretch_s = times_s[last] - times_s[first]
            assert sum(published[first : last + 1]) <= rate_per_s * (stretch_s + 1) + 1 + 0.01


@pytest.mark.parametrize("rate_per_s", [0.05, 0.5, 0.7, 1, 1.5, 3, 10, 333.3])
def test_rounds_a_second_apart_that_come_a_bit_late_lose_nothing_of_the_rate(rate_per_s: float) -> None:
    rounds = [n * 1.013 for n in range(1_000)]
    elapsed_s = rounds[-1]
    assert sum(paced(rate_per_s, rounds)) >= 0.98 * rate_per_s * elapsed_s


def test_half_a_task_a_second_is_one_every_two_seconds() -> None:
    assert paced(0.5, [0, 1, 2, 3, 4, 5, 6]) == [1, 0, 1, 0, 1, 0, 1]


def test_after_a_rest_a_seconds_worth_and_one_are_published_at_once() -> None:
    assert paced(5, [0, 100, 100, 101]) == [1, 6, 0, 5]


def test_a_clock_that_was_set_back_stops_nothing_for_long() -> None:
    ahead = _START + timedelta(days=1)
    assert Pace("q", 2.0, _START, ahead).ahead_s == 0.5


def let_pass(layer: Layer, seconds: float) -> None:
    """The queues' clock goes on by so much."""
    layer.do("UPDATE queues SET paced_until = paced_until - make_interval(secs => :s)", s=seconds)


def queued(layer: Layer) -> int:
    """Tasks that were published and aren't in hand."""
    [count] = layer.column("SELECT count(*) FROM tasks WHERE state = 'queued'")
    return int(count)


def test_nothing_of_a_queue_with_a_rate_goes_the_direct_way(layer: Layer) -> None:
    layer.queues.set_rate(JOIN.name, 0.01)
    assert layer.task(layer.submit()).state == "pending"
    assert layer.task(layer.submit(RERUN)).state == "queued"
    layer.queues.set_rate(JOIN.name, None)
    layer.relay.round()
    assert layer.task(layer.submit()).state == "queued"


def test_the_relay_publishes_what_the_rate_allows_whoever_leads(
    layer: Layer, database: Database, redis_url: str
) -> None:
    other = Layer(database, redis_url, name="w2")
    layer.queues.set_rate(JOIN.name, 0.05)
    for _ in range(6):
        layer.submit()
    counts = []
    for passed_s in (0, 0, 15, 10, 0, 20, 600, 0):
        let_pass(layer, passed_s)
        for relay in (layer.relay, other.relay):
            relay.round()
        counts.append(queued(layer))
    assert counts == [1, 1, 1, 2, 2, 3, 4, 4]  # a long rest is worth no more than a short one


def test_retries_and_polls_are_paced_as_well(layer: Layer) -> None:
    layer.queues.set_rate(SLOW.name, 0.01)
    task_id = layer.submit(SLOW)
    layer.relay.round()
    layer.work.snooze(layer.claim(task_id, SLOW), None, for_s=0)
    layer.relay.round()
    assert layer.task(task_id).state == "pending"
    let_pass(layer, 101)
    layer.relay.round()
    assert layer.task(task_id).state == "queued"


def test_a_bulk_requeue_is_paced_with_the_rest(layer: Layer) -> None:
    layer.queues.set_rate(JOIN.name, 0.01)
    for priority in (10, 0):
        layer.do("UPDATE tasks SET priority = 10 WHERE id = :id", id=layer.submit())
        layer.relay.round()
        assert queued(layer) == 1, priority


def test_what_is_published_already_waits_when_a_rate_is_set(layer: Layer) -> None:
    for _ in range(5):
        layer.submit()
    layer.queues.set_rate(JOIN.name, 0.01)
    layer.relay.round()
    assert queued(layer) == 1
    layer.queues.set_rate(JOIN.name, 0.01)  # the same again begins no new burst
    layer.relay.round()
    assert queued(layer) == 1


def test_a_paused_queue_with_a_rate_publishes_nothing(layer: Layer) -> None:
    layer.queues.set_rate(JOIN.name, 100)
    layer.queues.set_paused(JOIN.name, True)
    layer.submit()
    layer.relay.round()
    assert queued(layer) == 0


@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, float("nan"), float("inf"), 1e-9])
def test_a_rate_that_makes_no_sense_is_refused(layer: Layer, rate_per_s: float) -> None:
    with pytest.raises(ValueError, match="between"):
        layer.queues.set_rate(JOIN.name, rate_per_s)
    with pytest.raises(UnknownQueue):
        layer.queues.set_rate("nonsense", 1)


def test_in_real_time_several_relays_together_keep_to_the_rate(
    layer: Layer, database: Database, redis_url: str
) -> None:
    relays = [layer.relay, Layer(database, redis_url, name="w2").relay]
    layer.queues.set_rate(JOIN.name, 20)
    with database.transaction() as tx:
        layer.submitter.submit_many(tx, JOIN.name, [uuid4() for _ in range(200)])
    begun_s = time.monotonic()

    def rounds() -> bool:
        for relay in relays:
            relay.round()
        return queued(layer) >= 60

    until(rounds)
    elapsed_s = time.monotonic() - begun_s
    assert queued(layer) <= 20 * (elapsed_s + 1) + 1
    assert 1.8 < elapsed_s < 12
