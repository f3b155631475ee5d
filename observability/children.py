"""What a process' children cost: a decoder's memory and CPU time show in no figure of its parent."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector


class ChildrenCollector(Collector):
    """The memory of this process' living children, and the CPU time of all that it ever had."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Registering looks at no process."""
        return []

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Two families."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = ended.ru_utime + ended.ru_stime
        resident_bytes = 0
        for child in psutil.Process().children():
            # one that ends meanwhile counts among the ended ones next time
            with contextlib.suppress(psutil.NoSuchProcess), child.oneshot():
                times = child.cpu_times()
                cpu_s += times.user + times.system
                resident_bytes += child.memory_info().rss
        yield CounterMetricFamily("safelight_decoder_cpu_seconds", "CPU time of decoder processes", cpu_s)
        yield GaugeMetricFamily(
            "safelight_decoder_resident_memory_bytes", "Memory of decoder processes", resident_bytes
        )
