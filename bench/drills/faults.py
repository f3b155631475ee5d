"""The drills themselves: what is broken, how it is mended, and which alert has to tell of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from bench.drills.site import Site
from tests.pictures import huge_png, jpeg

_POISON = 24  # DeadLettersGrowing tells of more than 20
_REFUSED = 8  # StorageErrors of more than 3


@contextmanager
def workers_killed(site: Site) -> Iterator[None]:
    """kill -9 for every worker; then they are started."""
    site.kill_all_workers()
    yield
    for name in site.workers:
        site.start_worker(name)


@contextmanager
def redis_stopped(site: Site) -> Iterator[None]:
    """Redis (Valkey) ends, and is started with its data."""
    site.valkey.end()
    yield
    site.valkey.start()


@contextmanager
def postgres_stopped(site: Site) -> Iterator[None]:
    """PostgreSQL ends, and is started with its data."""
    site.postgres.end()
    yield
    site.postgres.start()


@contextmanager
def photos_poisoned(site: Site) -> Iterator[None]:
    """Pictures of 2.5 gigapixels, says their header; then someone discards their tasks."""
    for number in range(_POISON):
        site.upload(huge_png(width=50_000 + number), site.owner)
    yield
    site.flask("tasks", "discard", "--error-type", "too-many-pixels")


@contextmanager
def store_filled(site: Site) -> Iterator[None]:
    """Something takes all the room of the store's disk, and uploads are refused; then it goes."""
    filler = site.store / "filler"
    room = os.statvfs(site.store)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
    for number in range(_REFUSED):
        answer = site.ask("POST", "/v1/photos", body=jpeg(seed=1000 + number), headers=site.owner)
        assert answer.status == 503, answer
    yield
    filler.unlink()


@dataclass(frozen=True)
class Drill:
    """One fault.

    Attributes:
        alerts: labels of those that have to fire and to clear; the first is the one that is timed.
        follows: names of pages that are true as well, and may come along.
    """

    fault: Callable[[Site], AbstractContextManager[None]]
    alerts: tuple[Mapping[str, str], ...]
    follows: frozenset[str] = frozenset()


DRILLS = {
    "kill-workers": Drill(workers_killed, ({"alertname": "NoWorkersAlive", "severity": "page"},)),
    "stop-redis": Drill(redis_stopped, ({"alertname": "DependencyDown", "dependency": "redis"},)),
    "stop-postgres": Drill(postgres_stopped, ({"alertname": "DependencyDown", "dependency": "postgres"},)),
    "poison-photos": Drill(photos_poisoned, ({"alertname": "DeadLettersGrowing", "severity": "info"},)),
    "fill-store": Drill(
        store_filled,
        (
            {"alertname": "DiskLow", "severity": "page"},
            {"alertname": "StorageErrors", "operation": "put"},
        ),
        frozenset({"ApiErrorRatio"}),
    ),
}
