"""How fast workers drain no-op tasks: the layer, bare Dramatiq, and the layer without its metrics."""

from __future__ import annotations

import resource
import statistics
import time

from bench.task_stack import Bench
from embedded import processes

_ROUNDS = 7


def no_ops(bench: Bench, count: int) -> dict[str, float]:
    """No-op tasks through the layer, and no-op messages through bare Dramatiq, in turn."""
    medians = _medians(bench, ("layer", "bare"), count, rounds=3)
    return {
        "noop_layer_per_s": medians["layer"],
        "noop_bare_dramatiq_per_s": medians["bare"],
        "noop_ratio": medians["layer"] / medians["bare"],
    }


def cost_of_metrics(bench: Bench, count: int) -> dict[str, float]:
    """CPU time of the workers with their metrics, scraped each second, and without any, in turn.

    Their start is in both. Set against the wall time that a task takes, it is what throughput could lose.
    """
    cpu_s: dict[str, list[float]] = {"layer": [], "unmeasured": []}
    rates: list[float] = []
    for turn in range(_ROUNDS):
        for mode in list(cpu_s)[:: 1 if turn % 2 else -1]:
            bench.clear()
            before_s = _cpu_of_children_s()
            rates.append(_drain(bench, mode, count))
            cpu_s[mode].append(_cpu_of_children_s() - before_s)
    medians_s = {mode: statistics.median(values) for mode, values in cpu_s.items()}
    cost_s = (medians_s["layer"] - medians_s["unmeasured"]) / count
    return {
        "metrics_cpu_per_noop_us": cost_s * 1e6,
        "metrics_cost_percent": 100 * cost_s * statistics.median(rates),
    }


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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

    with bench.workers(mode), bench.scraped(mode == "layer"):
        assert processes.settles(lambda: left() < count * 0.98, timeout_s=60), mode
        begun_s, begun = time.monotonic(), left()
        assert processes.settles(lambda: left() == 0, timeout_s=300), mode
        return begun / (time.monotonic() - begun_s)
