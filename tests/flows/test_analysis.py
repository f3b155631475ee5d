"""Analyses under load and faults: each photo ends with one complete result, asked for once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from config import Settings
from db.session import Database
from embedded import processes
from examples.slow_service import FAULTS, Behaviour
from tests.actors import conftest as _environment  # noqa: F401 - `actors` reads it as it is imported
from tests.flows.farm import Farm
from tests.flows.load import percentile
from tests.flows.seeded import waiting_for_analysis
from tests.pictures import jpeg
from tests.slow_service import SlowService, slow_service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EVERYTHING = {"place", "labels", "faces", "moderation"}
POLLS = 3


def asking(settings: Settings, site: SlowService, dialect: str, **changes: Any) -> Settings:
    """Settings of a worker with eight threads that asks the service."""
    quick: dict[str, Any] = {"analysis_timeout_s": 0.5, "analysis_breaker_s": 1.0, "worker_slots": 8}
    return replace(settings, analysis_url=site.url(dialect), **{**quick, **changes})


@contextmanager
def worker(settings: Settings) -> Iterator[None]:
    """A worker in this process."""
    from tests.actors.analysing import working

    with working(settings):
        yield


def live(database: Database) -> int:
    """Analyses that aren't done."""
    with database.transaction() as tx:
        query = "SELECT count(*) FROM tasks WHERE kind = 'analysis' AND state <> 'completed'"
        return int(tx.execute(query).scalar_one())


def results(database: Database) -> dict[UUID, tuple[set[str], int]]:
    """What is stored of each photo: names, and how many answers that took."""
    with database.transaction() as tx:
        rows = tx.execute("SELECT photo_id, result, partial, polls FROM analyses").all()
    assert all(row.partial == {} for row in rows)
    return {row.photo_id: (set(row.result), row.polls) for row in rows}


def check(database: Database, site: SlowService, photo_ids: list[UUID]) -> Counter[str]:
    """Each photo has everything, and was analysed once; gives the answers that each took at the service."""
    stored = results(database)
    assert set(stored) == set(photo_ids)
    assert all(names == EVERYTHING for names, _ in stored.values())
    assert site.jobs.photos == {str(photo_id): 1 for photo_id in photo_ids}
    return Counter(site.jobs.order)


@pytest.mark.parametrize("dialect", ["operations", "body"])
def test_500_photos_with_30_percent_failures_are_all_complete_and_none_is_analysed_twice(
    settings: Settings, database: Database, dialect: str
) -> None:
    behaviour = Behaviour(POLLS, retry_after_s=0.5, errors=0.3, faults=FAULTS, hang_s=1.0)
    with slow_service(behaviour) as site:
        photo_ids = waiting_for_analysis(database, 500)
        begun_s = time.monotonic()
        with worker(asking(settings, site, dialect)):
            assert processes.settles(lambda: live(database) == 0, timeout_s=400), live(database)
        took_s = time.monotonic() - begun_s
        answers = check(database, site, photo_ids)
    stored = Counter(polls for _, polls in results(database).values())
    print(  # noqa: T201
        f"{dialect}: 500 photos in {took_s:.0f} s, {site.jobs.calls} calls; "
        f"answers a photo {sorted(Counter(answers.values()).items())}, stored {sorted(stored.items())}"
    )
    assert min(answers.values()) >= POLLS + 1
    assert max(stored) <= POLLS + 1


def test_a_service_that_flaps_is_asked_until_all_is_complete(settings: Settings, database: Database) -> None:
    with slow_service(Behaviour(POLLS, retry_after_s=0.5)) as site:
        photo_ids = waiting_for_analysis(database, 100)
        over = threading.Event()

        def flap() -> None:
            while not over.wait(random.uniform(0.2, 1.5)):
                site.behaviour.down = not site.behaviour.down
            site.behaviour.down = False

        flapping = threading.Thread(target=flap)
        flapping.start()
        try:
            with worker(asking(settings, site, "operations")):
                done = processes.settles(lambda: live(database) < 20, timeout_s=200)
                over.set()
                assert done
                assert processes.settles(lambda: live(database) == 0, timeout_s=100), live(database)
        finally:
            over.set()
            flapping.join()
        check(database, site, photo_ids)


def test_a_thousand_that_wait_take_turns(settings: Settings, database: Database) -> None:
    with slow_service(Behaviour(POLLS, retry_after_s=0.5)) as site:
        photo_ids = waiting_for_analysis(database, 1000)
        with worker(asking(settings, site, "operations", analysis_timeout_s=10.0)):
            assert processes.settles(lambda: live(database) == 0, timeout_s=400), live(database)
        place = {str(photo_id): number for number, photo_id in enumerate(photo_ids)}
        polls = [0] * len(photo_ids)
        for photo_id in site.jobs.order:
            number = place[photo_id]
            polls[number] += 1
            neighbours = polls[max(0, number - 1) : number + 2]
            assert max(neighbours) - min(neighbours) <= 1, (number, neighbours)
        assert set(polls) == {POLLS + 1}


@pytest.fixture
def site() -> Iterator[SlowService]:
    """A service for a farm."""
    with slow_service(Behaviour(POLLS, retry_after_s=0.3, errors=0.1, faults=("error", "lost"))) as site:
        yield site


@pytest.fixture
def farm(tmp_path_factory: pytest.TempPathFactory, site: SlowService) -> Iterator[Farm]:
    """An API and two workers of all queues, on servers of their own."""
    changes: dict[str, Any] = {
        "analysis_url": site.url("operations"),
        "analysis_timeout_s": 2.0,
        "analysis_breaker_s": 1.0,
    }
    with Farm(tmp_path_factory.mktemp("farm"), **changes) as farm:
        yield farm


def test_killed_workers_emptied_redis_and_a_restarted_postgresql_spoil_no_analysis(
    farm: Farm, site: SlowService
) -> None:
    key = farm.key("anna")
    ids = [farm.ask("POST", "/v1/photos?analysis=true", body=jpeg(64, 48, seed=seed), headers=key).json["id"]
           for seed in range(80)]  # fmt: skip
    for fault in range(8):
        time.sleep(random.uniform(0.2, 1.0))
        if fault == 3:
            farm.forget_all_messages()
        elif fault == 6:
            farm.postgres.restart()
        else:
            farm.kill_worker(farm.workers[fault % 2])
    unfinished = "SELECT id FROM tasks WHERE kind = 'analysis' AND state <> 'completed'"

    def done() -> bool:
        try:
            return not farm.query(unfinished)
        except Exception:  # noqa: BLE001 - PostgreSQL is still on its way
            return False

    assert processes.settles(done, timeout_s=200), farm.query(unfinished)
    stored = farm.query("SELECT photo_id, result FROM analyses")
    assert {str(row.photo_id): set(row.result) for row in stored} == dict.fromkeys(ids, EVERYTHING)
    assert site.jobs.photos == dict.fromkeys(ids, 1)
    farm.settle(ids)


def test_10000_photos_that_wait_for_the_service_delay_no_preview(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    behaviour = Behaviour(polls=1_000_000, delay_s=0.2, retry_after_s=1.0)
    with slow_service(behaviour) as site:
        url = site.url("operations")
        with Farm(tmp_path_factory.mktemp("farm"), workers=0, analysis_url=url) as farm:
            queues = ["dramatiq", "actors", "--skip-logging", "--processes", "1", "--queues"]
            farm.start("worker", *queues, "preview", "exif", "--threads", "3")
            key = farm.key("anna")

            def ready_s(seeds: range) -> list[float]:
                times_s = []
                for seed in seeds:
                    begun_s = time.monotonic()
                    farm.wait_ready(farm.upload(jpeg(1600, 1200, seed=seed), key), key)
                    times_s.append(time.monotonic() - begun_s)
                return times_s

            ready_s(range(3))  # the decoders are started by then
            alone_s = ready_s(range(10, 30))
            waiting_for_analysis(farm._database, 10_000)
            farm.start("analysis", *queues, "analysis", "--threads", "8")
            assert processes.settles(lambda: site.jobs.calls > 100, timeout_s=60)
            beside_s = ready_s(range(30, 50))
            calls = site.jobs.calls
    alone, beside = (
        [f"{percentile(times_s, p):.2f}" for p in (0.5, 0.95)] for times_s in (alone_s, beside_s)
    )
    print(  # noqa: T201
        f"ready after (p50, p95) s: alone {alone}, beside 10,000 that wait {beside}, {calls} calls meanwhile"
    )
    assert percentile(beside_s, 0.5) < percentile(alone_s, 0.5) + 3
