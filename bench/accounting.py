"""CPU time and memory of process trees, by the kernel's own accounts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

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
        """User and system time of all that run and all that ended, from the start on."""
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


def machine_cpu_s() -> float:
    """What all processors have been busy with, since the machine started; what a host took away counts too."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq + times.steal)


def cpu_s(trees: Mapping[str, Tree]) -> dict[str, float]:
    """The CPU time of each tree."""
    return {name: tree.cpu_s() for name, tree in trees.items()}


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
