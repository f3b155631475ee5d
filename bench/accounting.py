"""CPU time and memory of process trees, by the kernel's own accounts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

_SAMPLE_S = 0.25


class Tree:
    """Everything under one `bench.reaper`, without the reaper itself.

    Args:
        reaper_pid: descendants that ended are in its account of reaped children, or in a living parent's.
    """

    def __init__(self, reaper_pid: int) -> None:
        self._reaper = psutil.Process(reaper_pid)

    def cpu_s(self) -> float:
        """User and system time of all that run and all that ended, from the start on (seconds)."""
        own = self._reaper.cpu_times()
        total_s: float = own.children_user + own.children_system
        for process in self._reaper.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total_s += times.user + times.system + times.children_user + times.children_system
        return total_s

    def pss_bytes(self) -> int:
        """Proportional set size of all: what several share is divided among them (proc(5), smaps)."""
        total = 0
        for process in self._reaper.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_full_info().pss
        return total


@dataclass(frozen=True)
class Clocks:
    """What was spent until a moment, in seconds: by each tree, by this process, by the whole machine."""

    trees: dict[str, float]
    own: float
    machine: float
    time: float

    @classmethod
    def of(cls, trees: Mapping[str, Tree]) -> Clocks:
        """Read them now."""
        spent_s = {name: tree.cpu_s() for name, tree in trees.items()}
        return cls(spent_s, time.process_time(), _machine_cpu_s(), time.monotonic())

    def since(self, before: Clocks, *, photos: int) -> dict[str, float]:
        """CPU time in ms a photo of each tree and of this process; and the others' share of the machine."""
        spent_s = {name: self.trees[name] - before.trees[name] for name in self.trees}
        own_s = self.own - before.own
        others_s = self.machine - before.machine - own_s - sum(spent_s.values())
        figures = {f"cpu_{name}_ms": value * 1000 / photos for name, value in spent_s.items()}
        figures["cpu_load_ms"] = own_s * 1000 / photos
        at_most_s = (self.time - before.time) * (os.cpu_count() or 1)
        figures["others_cpu_percent"] = 100 * max(0.0, others_s) / at_most_s
        return figures


def _machine_cpu_s() -> float:
    """What all processors were busy with since the machine started; what a host took away counts too."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq + times.steal)


class Peak:
    """The largest memory of some trees together that was seen."""

    def __init__(self) -> None:
        self.pss_bytes = 0


@contextmanager
def watched(trees: list[Tree]) -> Iterator[Peak]:
    """Look at the memory of some trees every 0.25 s."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while True:
            peak.pss_bytes = max(peak.pss_bytes, sum(tree.pss_bytes() for tree in trees))
            if done.wait(_SAMPLE_S):
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
