"""Given a worker or none, when its container's health check is run, then it tells which."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis
from prometheus_client import CollectorRegistry

from config import Settings
from embedded import processes as os_processes
from observability.presence import Presence, process_name, processes
from tests.deploy.compose import SERVICES
from tests.stack import ROOT, environment


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """An empty Redis."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


def announce(client: redis.Redis, role: str) -> Presence:
    """A process of this host that announces itself."""
    presence = Presence(client, CollectorRegistry(), role=role, interval_s=0.5)
    presence.start()
    assert os_processes.settles(lambda: bool(processes(client)), timeout_s=10)
    return presence


def check(settings: Settings) -> subprocess.CompletedProcess[str]:
    """Run the check as Docker does."""
    _, python, *arguments = SERVICES["worker"]["healthcheck"]["test"]
    assert python == "python3"
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(settings), capture_output=True, text=True, check=False
    )


def test_a_worker_that_announces_itself_is_alive_until_it_stops(
    settings: Settings, client: redis.Redis
) -> None:
    presence = announce(client, "worker")
    try:
        assert (check(settings).returncode, check(settings).stderr) == (0, "")
    finally:
        presence.stop()
    answer = check(settings)
    assert (answer.returncode, answer.stderr) == (1, f"no worker of {os.uname().nodename} is alive\n")


def test_another_hosts_worker_is_not_this_ones(settings: Settings, client: redis.Redis) -> None:
    presence = announce(client, "worker")
    try:
        key = f"safelight:process:{process_name()}"
        said = client.get(key)
        assert isinstance(said, bytes)
    finally:
        presence.stop()
    client.set("safelight:process:other:1", said.replace(process_name().encode(), b"other:1"))
    assert check(settings).returncode == 1


def test_an_api_is_no_worker(settings: Settings, client: redis.Redis) -> None:
    presence = announce(client, "api")
    try:
        assert check(settings).returncode == 1
    finally:
        presence.stop()


def test_without_redis_it_says_so_in_one_line(settings: Settings) -> None:
    answer = check(replace(settings, redis_url="unix:///nowhere"))
    assert answer.returncode == 1
    assert answer.stderr.startswith("Redis is away: ")
    assert answer.stderr.count("\n") == 1
