"""How fast workers drain no-op tasks: the layer, bare Dramatiq, and the layer without its metrics."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from prometheus_client.openmetrics.exposition import generate_latest

from bench.task_stack import Bench
from bench.task_worker import NOOP
from embedded import processes
from observability.logs import logging_with

_TASKS = 2_000


def no_ops(bench: Bench, count: int) -> dict[str, float]:
    """No-op tasks through the layer, and no-op messages through bare Dramatiq, in turn."""
    medians = _medians(bench, ("layer", "bare"), count, rounds=3)
    return {
        "noop_layer_per_s": medians["layer"],
        "noop_bare_dramatiq_per_s": medians["bare"],
        "noop_ratio": medians["layer"] / medians["bare"],
    }


def cost_of_metrics(bench: Bench) -> dict[str, float]:
    """CPU time of a no-op task, of what is observed of it, and of a scrape each 10 s.

    Measured directly: the difference of two runs, with metrics and without, is smaller than their noise.
    """
    bench.clear()
    task_ids = bench.queue(_TASKS)
    with logging_with(trace_id="0" * 32):  # each observation has an exemplar

        def work() -> None:
            with bench.layer.work.claimed(NOOP.name, str(task_ids.pop())) as claim:
                claim.complete(lambda tx: None)

        def observe() -> None:
            bench.layer.metrics.begun(NOOP.name, 0.3)
            bench.layer.metrics.worked(NOOP.name, 0.1)
            bench.layer.metrics.ended(NOOP.name, "completed", 1, None)

        task_s, observed_s = _cpu_s(work, _TASKS), _cpu_s(observe, 20_000)
    scrape_s = _cpu_s(lambda: generate_latest(bench.layer.registry), 50)
    return {
        "noop_cpu_us": task_s * 1e6,
        "metrics_cpu_per_noop_us": observed_s * 1e6,
        "metrics_cpu_per_scrape_ms": scrape_s * 1000,
        "metrics_cost_percent": 100 * (observed_s / task_s + scrape_s / 10),
    }


def _cpu_s(action: Callable[[], object], count: int) -> float:
    begun_s = time.process_time()
    for _ in range(count):
        action()
    return (time.process_time() - begun_s) / count


def _medians(bench: Bench, modes: tuple[str, ...], count: int, *, rounds: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {mode: [] for mode in modes}
    for turn in range(rounds):
        for mode in modes if turn % 2 == 0 else modes[::-1]:
            bench.clear()
            rates[mode].append(_drain(bench, mode, count))
    return {mode: statistics.median(values) for mode, values in rates.items()}


def _drain(bench: Bench, mode: str, count: int) -> float:
    if mode == "bare":
        bench.layer.send_bare(count)
    else:
        bench.submit(count)

    def left() -> int:
        if mode == "bare":
            return int(bench.client.hlen("dramatiq:bare.msgs"))
        return int(bench.scalar("SELECT count(*) FROM tasks WHERE state <> 'completed'"))

    with bench.workers(mode):
        assert processes.settles(lambda: left() < count * 0.98, timeout_s=60), mode
        begun_s, begun = time.monotonic(), left()
        assert processes.settles(lambda: left() == 0, timeout_s=300), mode
        return begun / (time.monotonic() - begun_s)
