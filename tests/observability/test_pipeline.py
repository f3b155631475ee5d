"""The pipeline's figures: the truth of PostgreSQL and Redis, and never nothing at all."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from observability.pipeline import PipelineCollector


@dataclass
class Queues:
    """The figures of queues, as the database would give them."""

    depth: dict[tuple[str, str], int] = field(default_factory=dict)
    oldest_age_s: dict[str, float] = field(default_factory=dict)
    dead_letters: dict[tuple[str, str], int] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    busy_slots: int = 0


@dataclass
class Sources:
    """What the collector asks, each of which can be broken."""

    queues: Queues = field(default_factory=Queues)
    slots: list[int] = field(default_factory=list)
    free_bytes: int | None = 5
    broken: set[str] = field(default_factory=set)
    hanging: dict[str, threading.Event] = field(default_factory=dict)

    def registry(self, *, keep_s: float = 0.0, limit_s: float = 10.0) -> CollectorRegistry:
        """A registry with the collector over these sources."""

        def answering(name: str) -> None:
            if name in self.hanging:
                self.hanging[name].wait(30)
            if name in self.broken:
                raise ConnectionError(f"{name} is away")

        def queues() -> Queues:
            answering("postgres")
            return self.queues

        def slots() -> list[int]:
            answering("redis")
            return self.slots

        def free_bytes() -> int | None:
            answering("storage")
            return self.free_bytes

        names = ("postgres", "redis", "storage")
        registry = CollectorRegistry()
        registry.register(
            PipelineCollector(
                queues,
                slots,
                {name: lambda name=name: answering(name) for name in names},  # type: ignore[misc]
                free_bytes,
                kinds=["preview", "exif"],
                depth_states=["pending", "failed"],
                error_types=["worker-lost"],
                keep_s=keep_s,
                limit_s=limit_s,
            )
        )
        return registry


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """One series."""
    return registry.get_sample_value(f"safelight_{name}", labels)


def test_the_figures_are_exported() -> None:
    queues = Queues(
        {("preview", "pending"): 3}, {"preview": 9.5}, {("exif", "worker-lost"): 2}, frozenset(["exif"]), 4
    )
    registry = Sources(queues, slots=[2, 8]).registry()
    assert value(registry, "queue_depth", kind="preview", state="pending") == 3
    assert value(registry, "queue_oldest_age_seconds", kind="preview") == 9.5
    assert value(registry, "dead_letters", kind="exif", error_type="worker-lost") == 2
    assert value(registry, "queue_paused", kind="exif") == 1
    assert value(registry, "queue_paused", kind="preview") == 0
    assert value(registry, "worker_busy") == 4
    assert value(registry, "workers_alive") == 2
    assert value(registry, "worker_slots") == 10
    assert value(registry, "store_free_bytes") == 5


def test_what_is_none_is_exported_as_zero() -> None:
    registry = Sources().registry()
    for kind in ("preview", "exif"):
        for state in ("pending", "failed"):
            assert value(registry, "queue_depth", kind=kind, state=state) == 0
        assert value(registry, "queue_oldest_age_seconds", kind=kind) == 0
        assert value(registry, "dead_letters", kind=kind, error_type="worker-lost") == 0
    assert value(registry, "workers_alive") == 0


@pytest.mark.parametrize(
    ("away", "gone"),
    [("postgres", "queue_depth"), ("redis", "workers_alive"), ("storage", "store_free_bytes")],
)
def test_one_that_is_away_takes_only_its_own_figures_along(
    away: str, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        text = generate_latest(Sources(broken={away}).registry()).decode()
    for name in ("queue_depth", "workers_alive", "store_free_bytes"):
        assert (f"\nsafelight_{name}" in text) == (name != gone)
    for name in ("postgres", "redis", "storage"):
        up = f"{float(name != away)}"
        assert f'safelight_dependency_up{{dependency="{name}"}} {up}' in text
        assert f'safelight_collector_success{{dependency="{name}"}} {up}' in text
    assert f"{away} is away" in caplog.text


def test_a_store_without_bounds_has_no_free_bytes() -> None:
    assert value(Sources(free_bytes=None).registry(), "store_free_bytes") is None


def test_one_that_hangs_is_away_and_holds_up_no_scrape(caplog: pytest.LogCaptureFixture) -> None:
    go_on = threading.Event()
    sources = Sources()
    sources.hanging["postgres"] = go_on
    registry = sources.registry(limit_s=0.05)
    try:
        with caplog.at_level(logging.WARNING):
            text = generate_latest(registry).decode()
    finally:
        go_on.set()
    assert 'safelight_dependency_up{dependency="postgres"} 0.0' in text
    assert 'safelight_dependency_up{dependency="redis"} 1.0' in text
    assert "\nsafelight_queue_depth" not in text
    assert "\nsafelight_workers_alive 0.0" in text
    assert "postgres can't be read: it takes too long" in caplog.text


def test_scrapes_share_what_was_read_lately() -> None:
    sources = Sources(slots=[2])
    registry = sources.registry(keep_s=3600)
    assert value(registry, "workers_alive") == 1
    sources.slots = [2, 2]
    assert value(registry, "workers_alive") == 1
