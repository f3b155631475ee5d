"""Faults in the middle of everything, real kill -9: nothing is lost, nothing is done twice."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded import processes
from tests.flows.farm import Farm
from tests.pictures import jpeg, picture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """An API and two workers, on servers of their own."""
    with Farm(tmp_path_factory.mktemp("farm")) as farm:
        yield farm


@pytest.fixture
def key(farm: Farm) -> dict[str, str]:
    """Headers with a key."""
    return farm.key("anna")


def pictures(count: int, *, width: int = 1600) -> list[bytes]:
    """Pictures that take a worker a moment each."""
    return [jpeg(width, width * 3 // 4, seed=seed) for seed in range(count)]


def during(
    farm: Farm, key: dict[str, str], count: int, fault: Callable[[], None], *, width: int = 1600
) -> list[str]:
    """Upload `count` pictures while `fault` happens; returns the accepted photos."""
    ids: list[str] = []
    uploading = threading.Thread(
        target=lambda: ids.extend(farm.upload_all(pictures(count, width=width), key))
    )
    uploading.start()
    assert processes.settles(lambda: len(farm.query("SELECT id FROM photos")) > 2, timeout_s=30)
    fault()
    uploading.join()
    return ids


def test_workers_killed_at_twenty_random_moments_lose_nothing(farm: Farm, key: dict[str, str]) -> None:
    def kill_again_and_again() -> None:
        for number in range(20):
            time.sleep(random.uniform(0.05, 0.6))
            farm.kill_worker(farm.workers[number % 2])

    ids = during(farm, key, 80, kill_again_and_again)
    assert farm.settle(ids) == {"ready": 80, "failed": 0}


def test_all_workers_killed_at_once_lose_nothing(farm: Farm, key: dict[str, str]) -> None:
    def kill_all() -> None:
        for name in farm.workers:
            farm.kill_worker(name)

    ids = during(farm, key, 40, kill_all)
    assert farm.settle(ids) == {"ready": 40, "failed": 0}


def test_redis_emptied_in_the_middle_loses_nothing(farm: Farm, key: dict[str, str]) -> None:
    ids = during(farm, key, 60, farm.forget_all_messages)
    farm.forget_all_messages()
    assert farm.settle(ids) == {"ready": 60, "failed": 0}


def test_redis_restarted_in_the_middle_loses_nothing(farm: Farm, key: dict[str, str]) -> None:
    ids = during(farm, key, 60, farm.valkey.restart)
    assert farm.settle(ids) == {"ready": 60, "failed": 0}


def test_postgresql_restarted_in_the_middle_loses_nothing(farm: Farm, key: dict[str, str]) -> None:
    ids = during(farm, key, 60, farm.postgres.restart)
    assert farm.settle(ids) == {"ready": 60, "failed": 0}


def test_both_servers_restarted_lose_nothing(farm: Farm, key: dict[str, str]) -> None:
    def both() -> None:
        farm.valkey.end()
        farm.postgres.restart()
        farm.valkey.start()

    ids = during(farm, key, 60, both)
    assert farm.settle(ids) == {"ready": 60, "failed": 0}


def test_without_redis_uploads_are_accepted_and_done_when_it_is_back(farm: Farm, key: dict[str, str]) -> None:
    farm.valkey.end()
    took_s = []
    ids = []
    for data in pictures(10, width=400):
        begun_s = time.monotonic()
        ids.append(farm.upload(data, key)["id"])
        took_s.append(time.monotonic() - begun_s)
    assert max(took_s) < 3
    assert sorted(took_s)[5] < 0.5
    farm.valkey.start()
    assert farm.settle(ids, timeout_s=20) == {"ready": 10, "failed": 0}
    for name in farm.workers:
        assert processes.settles(lambda name=name: "redis works again" in farm.log(name), timeout_s=10)  # type: ignore[misc]
        entries = [json.loads(line) for line in farm.log(name).splitlines()]
        told = [entry["message"] for entry in entries if entry["logger"] == "tasks.broker"]
        assert [message.partition(":")[0] for message in told if "ack of" not in message] == [
            "redis fails, and goes on trying",
            "redis works again",
        ]
        assert not [entry for entry in entries if entry["level"] in ("error", "critical")]


def test_a_hanging_redis_delays_the_first_uploads_a_moment_and_loses_none(
    farm: Farm, key: dict[str, str]
) -> None:
    farm.upload(jpeg(seed=1000), key)
    os.kill(farm.valkey.process.pid, signal.SIGSTOP)
    took_s = []
    try:
        for data in pictures(10, width=400):
            begun_s = time.monotonic()
            farm.upload(data, key)
            took_s.append(time.monotonic() - begun_s)
    finally:
        os.kill(farm.valkey.process.pid, signal.SIGCONT)
    assert max(took_s) < 3
    assert sorted(took_s)[5] < 1
    ids = [str(row.id) for row in farm.query("SELECT id FROM photos")]
    assert farm.settle(ids, timeout_s=30) == {"ready": 11, "failed": 0}


def test_without_postgresql_uploads_get_503_and_leave_nothing(farm: Farm, key: dict[str, str]) -> None:
    ids = [farm.upload(data, key)["id"] for data in pictures(6)]
    farm.postgres.end()
    answer = farm.ask("POST", "/v1/photos", body=jpeg(seed=99), headers=key)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json["code"] == "database-away"
    assert farm.ask("GET", "/readyz").status == 503
    farm.postgres.start()
    assert farm.settle(ids) == {"ready": 6, "failed": 0}


def test_a_zombie_that_wakes_after_its_lease_changes_nothing(farm: Farm, key: dict[str, str]) -> None:
    zombie = farm.workers[0]

    def hang() -> None:
        """Stop it while it has a task in hand, until the others have taken that over."""
        while not _in_hand(farm, zombie):
            farm.pause_worker(zombie, signal.SIGCONT)
            time.sleep(0.02)
            farm.pause_worker(zombie, signal.SIGSTOP)
        try:
            lost = "SELECT FROM attempts WHERE error_type = 'worker-lost'"
            assert processes.settles(lambda: bool(farm.query(lost)), timeout_s=30)
        finally:
            farm.pause_worker(zombie, signal.SIGCONT)

    ids = during(farm, key, 40, hang)
    assert farm.settle(ids) == {"ready": 40, "failed": 0}


def test_sigterm_in_the_middle_of_a_batch_counts_no_attempt(farm: Farm, key: dict[str, str]) -> None:
    def stop_and_start() -> None:
        for name in farm.workers:
            farm.stop(name)
            farm.start_worker(name)

    ids = during(farm, key, 40, stop_and_start)
    assert farm.settle(ids) == {"ready": 40, "failed": 0}
    assert {row.attempts for row in farm.query("SELECT attempts FROM tasks")} == {1}


def test_a_photo_that_kills_its_worker_every_time_fails_and_says_so(farm: Farm, key: dict[str, str]) -> None:
    poison = farm.upload(_slow_png(), key)["id"]
    others = [farm.upload(data, key)["id"] for data in pictures(6)]
    holder = (
        "SELECT worker, token FROM tasks"
        " WHERE subject = :id AND kind = 'preview' AND state = 'processing' AND token > :killed"
    )
    state = "SELECT state FROM tasks WHERE subject = :id AND kind = 'preview'"
    deadline_s, killed = time.monotonic() + 120, 0
    while farm.query(state, id=poison)[0].state != "failed" and time.monotonic() < deadline_s:
        for row in farm.query(holder, id=poison, killed=killed):
            killed = row.token
            os.kill(int(row.worker.rpartition(":")[2]), signal.SIGKILL)
            name = next(name for name in farm.workers if farm.ended(name))
            farm.start_worker(name)
    # One that is always in hand beside it dies with it each time, and may fail too: `settle` wants a reason.
    assert sum(farm.settle([poison, *others]).values()) == 7
    failed = farm.query("SELECT attempts, error_type FROM tasks WHERE state = 'failed'")
    assert {(task.attempts, task.error_type) for task in failed} == {(5, "worker-lost")}
    assert farm.query(state, id=poison)[0].state == "failed"


def test_a_thousand_uploads_under_random_faults_lose_nothing(farm: Farm, key: dict[str, str]) -> None:
    faults: list[Callable[[], None]] = [
        lambda: farm.kill_worker(random.choice(farm.workers)),
        farm.forget_all_messages,
        farm.valkey.restart,
        farm.postgres.restart,
        lambda: os.kill(random.choice(farm.pids("api")), signal.SIGKILL),
    ]

    def a_minute_of_faults() -> None:
        # In this thread, since a process that a thread starts here ends with that thread (PR_SET_PDEATHSIG).
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            random.choice(faults)()
            time.sleep(random.uniform(0.5, 3))

    ids = during(farm, key, 1000, a_minute_of_faults, width=320)
    assert farm.settle(ids, timeout_s=180) == {"ready": 1000, "failed": 0}


def _in_hand(farm: Farm, worker: str) -> bool:
    """Whether a worker is stopped with a task in hand."""
    [pid] = farm.pids(worker)
    stopped = "\nState:\tT" in Path(f"/proc/{pid}/status").read_text()
    held = "SELECT FROM tasks WHERE state = 'processing' AND worker LIKE :holder"
    return stopped and bool(farm.query(held, holder=f"%:{pid}"))


def _slow_png() -> bytes:
    """A picture that takes seconds to decode and scale, so that its worker can be caught at it."""
    out = io.BytesIO()
    picture(12_000, 9_000, seed=7).save(out, "PNG", compress_level=1)
    return out.getvalue()
