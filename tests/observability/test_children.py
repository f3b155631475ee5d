"""What decoder processes cost is seen while they live and when they have ended."""

from __future__ import annotations

import subprocess
import sys

from prometheus_client import CollectorRegistry

from observability.children import ChildrenCollector

_SPEND = """
import time
big = bytearray(50_000_000)
while time.process_time() < 0.5: pass
print(flush=True)
input()
"""


def test_a_childs_cpu_time_stays_counted_when_it_has_ended_and_its_memory_does_not() -> None:
    registry = CollectorRegistry()
    registry.register(ChildrenCollector())

    def cpu_s() -> float:
        return registry.get_sample_value("safelight_decoder_cpu_seconds_total") or 0.0

    def memory_bytes() -> float:
        return registry.get_sample_value("safelight_decoder_resident_memory_bytes") or 0.0

    before_s, before_bytes = cpu_s(), memory_bytes()
    arguments = [sys.executable, "-c", _SPEND]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        assert cpu_s() - before_s >= 0.4
        assert memory_bytes() - before_bytes > 40_000_000
        child.communicate(b"\n")
    assert cpu_s() - before_s >= 0.4
    assert memory_bytes() - before_bytes < 40_000_000
