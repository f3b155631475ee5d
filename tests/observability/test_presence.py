"""Who is alive, and where their metrics are."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import redis
from prometheus_client import CollectorRegistry, Gauge

from embedded import processes as os_processes
from embedded.ports import any_free_port
from observability.presence import Build, Presence, process_name, processes, targets
from tasks.broker import connect
from tests.http import ask


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """An empty Redis."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def presence(client: redis.Redis) -> Iterator[Presence]:
    """A worker's, with a metric."""
    registry = CollectorRegistry()
    Gauge("safelight_something", "A metric", registry=registry).set(7)
    presence = Presence(client, registry, role="worker", slots=4, interval_s=0.05)
    yield presence
    presence.stop()


def test_a_process_announces_itself_and_serves_its_metrics(client: redis.Redis, presence: Presence) -> None:
    presence.start()
    assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
    (found,) = processes(client)
    assert (found.name, found.role, found.slots) == (process_name(), "worker", 4)
    answer = ask(int(found.target.rpartition(":")[2]), "GET", "/metrics")
    assert b"safelight_something 7.0" in answer.body
    assert targets(client) == [
        {"targets": [found.target], "labels": {"role": "worker", "process": process_name()}}
    ]


def test_a_process_says_what_it_runs_and_when_it_led(client: redis.Redis) -> None:
    led_at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    build = Build("1.2.3", "abc")
    worker = Presence(
        client, CollectorRegistry(), role="worker", interval_s=60, build=build, led_at=lambda: led_at
    )
    before = datetime.now(UTC)
    worker.start()
    try:
        assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
        (found,) = processes(client)
    finally:
        worker.stop()
    assert (found.version, found.revision, found.python) == ("1.2.3", "abc", platform.python_version())
    assert found.led_at == led_at.isoformat()
    assert found.started_at is not None
    assert before <= datetime.fromisoformat(found.started_at) <= datetime.now(UTC)


def test_a_process_that_stops_is_gone_at_once_and_its_port_closed(
    client: redis.Redis, presence: Presence
) -> None:
    presence.start()
    assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
    port = int(processes(client)[0].target.rpartition(":")[2])
    presence.stop()
    assert processes(client) == []
    with pytest.raises(ConnectionRefusedError):
        ask(port, "GET", "/metrics")


def test_a_process_that_dies_is_forgotten_after_three_intervals(client: redis.Redis) -> None:
    presence = Presence(client, CollectorRegistry(), role="api", interval_s=100)
    presence.start()
    try:
        assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
        left_ms = client.pttl(f"safelight:process:{process_name()}")
        assert 290_000 < int(left_ms) <= 300_000
    finally:
        presence.stop()


def test_an_entry_that_redis_lost_comes_back(client: redis.Redis, presence: Presence) -> None:
    presence.start()
    assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
    client.flushdb()
    assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)


def test_an_entry_that_vanishes_between_two_looks_is_no_error(client: redis.Redis) -> None:
    client.set("safelight:process:a", json.dumps({"name": "a", "role": "api", "target": "h:1", "slots": 0}))
    client.set("other:key", "x")
    assert [found.name for found in processes(client)] == ["a"]


def test_stopping_what_never_started_is_no_error(client: redis.Redis) -> None:
    Presence(client, CollectorRegistry(), role="api", interval_s=1).stop()


def test_a_process_stops_while_redis_is_away() -> None:
    away = connect(f"redis://127.0.0.1:{any_free_port()}/0")
    presence = Presence(away, CollectorRegistry(), role="api", interval_s=0.05)
    presence.start()
    presence.stop()
    away.close()
