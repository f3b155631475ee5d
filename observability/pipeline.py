"""The pipeline as a whole, for `/metrics` on the monitoring port; the same whichever process answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Protocol, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from observability.reading import Reading

logger = logging.getLogger(__name__)

T = TypeVar("T")
SCRAPE_LIMIT_S = 1.0


class Queues(Protocol):
    """The figures of the queues that are exported."""

    @property
    def depth(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def oldest_age_s(self) -> Mapping[str, float]: ...
    @property
    def dead_letters(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def paused(self) -> frozenset[str]: ...
    @property
    def busy_slots(self) -> int: ...


class PipelineCollector(Collector):
    """PostgreSQL, Redis and the store in figures. When one is away or slow, the rest is still answered.

    Args:
        queues: reads the queues' figures.
        slots: reads the slots of each live worker process.
        checks: by dependency, a function that raises if it is away.
        free_bytes: room left in the store, None if it has no bound.
        keep_s: how old a figure may be, so that several who scrape cost no more than one.
        limit_s: how long a scrape waits for any of them.
    """

    def __init__(
        self,
        queues: Callable[[], Queues],
        slots: Callable[[], list[int]],
        checks: Mapping[str, Callable[[], None]],
        free_bytes: Callable[[], int | None],
        *,
        kinds: Iterable[str],
        depth_states: Iterable[str],
        error_types: Iterable[str],
        keep_s: float = 5.0,
        limit_s: float = SCRAPE_LIMIT_S,
    ) -> None:
        self._queues = queues
        self._slots = slots
        self._free_bytes = free_bytes
        self._kinds = tuple(kinds)
        self._states = tuple(depth_states)
        self._error_types = tuple(error_types)
        figures = {"postgres": self._of_queues, "redis": self._of_workers, "storage": self._of_store}
        self._checks = {name: Reading(check, keep_s=keep_s) for name, check in checks.items()}
        self._figures = {name: Reading(read, keep_s=keep_s) for name, read in figures.items()}
        self._limit_s = limit_s

    def describe(self) -> list[GaugeMetricFamily]:
        """Registering asks nobody anything."""
        return []

    def collect(self) -> list[GaugeMetricFamily]:
        """All families; the dependencies are asked at once, so that two that hang cost no more than one."""
        checks = {name: check.start() for name, check in self._checks.items()}
        figures = {name: read.start() for name, read in self._figures.items()}
        wait((*checks.values(), *figures.values()), self._limit_s)  # type: ignore[arg-type]
        up = _gauge("dependency_up", "Whether it answers", "dependency")
        success = _gauge("collector_success", "Whether its figures could be read", "dependency")
        duration = _gauge("collector_duration_seconds", "How long that took", "dependency")
        families = [up, success, duration]
        for name, check in checks.items():
            up.add_metric([name], float(_result(name, check) is not None))
        for name, future in figures.items():
            read = _result(name, future)
            success.add_metric([name], float(read is not None))
            if read is not None:
                duration.add_metric([name], read[0])
                families += read[1]
        return families

    def _of_queues(self) -> list[GaugeMetricFamily]:
        figures = self._queues()
        depth = _gauge("queue_depth", "Tasks by state", "kind", "state")
        oldest = _gauge("queue_oldest_age_seconds", "How long the oldest due task waits", "kind")
        paused = _gauge("queue_paused", "Whether the queue is paused", "kind")
        dead = _gauge("dead_letters", "Failed tasks that nobody has dealt with", "kind", "error_type")
        busy = _gauge("worker_busy", "Slots in which tasks are being processed")
        for kind in self._kinds:
            for state in self._states:
                depth.add_metric([kind, state], figures.depth.get((kind, state), 0))
            for error_type in self._error_types:
                dead.add_metric([kind, error_type], figures.dead_letters.get((kind, error_type), 0))
            oldest.add_metric([kind], figures.oldest_age_s.get(kind, 0.0))
            paused.add_metric([kind], float(kind in figures.paused))
        busy.add_metric([], figures.busy_slots)
        return [depth, oldest, paused, dead, busy]

    def _of_workers(self) -> list[GaugeMetricFamily]:
        slots = self._slots()
        alive = _gauge("workers_alive", "Worker processes")
        total = _gauge("worker_slots", "Tasks that the workers can process at once")
        alive.add_metric([], len(slots))
        total.add_metric([], sum(slots))
        return [alive, total]

    def _of_store(self) -> list[GaugeMetricFamily]:
        free = _gauge("store_free_bytes", "Room left on the store's disk")
        if (free_bytes := self._free_bytes()) is not None:
            free.add_metric([], free_bytes)
        return [free]


def _gauge(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"safelight_{name}", help_text, labels=labels)


def _result(name: str, reading: Future[tuple[float, T]]) -> tuple[float, T] | None:
    """What was read, None if that failed or isn't done."""
    try:
        return reading.result(0)
    except Exception as error:  # noqa: BLE001 - whatever it is, the scrape goes on
        logger.warning("%s can't be read: %s", name, str(error) or "it takes too long")
        return None
