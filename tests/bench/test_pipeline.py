"""The benchmark of the whole service, for real, with few photos."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.stack import ROOT


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("load", "first"),
    [((), "photos_per_s"), (("--idle",), "answered_to_ready_p50_ms")],
    ids=["mixed", "idle"],
)
def test_four_photos_through_safelight_give_figures(
    load: tuple[str, ...], first: str, tmp_path: Path
) -> None:
    report = tmp_path / "figures.json"
    command = ["-m", "bench.pipeline", "run", "safelight", "--count", "4", "--warm-up", "2", *load]
    subprocess.run([sys.executable, *command, "--json", str(report)], cwd=ROOT, check=True)
    document = json.loads(report.read_text())
    (figures,) = document["rounds"]["safelight"]
    assert document["medians"]["safelight"] == figures
    assert figures[first] > 0
    assert figures["cpu_worker_ms"] > 10  # four previews can't be made for less
    assert figures["cpu_ms"] == pytest.approx(figures["cpu_api_ms"] + figures["cpu_worker_ms"])
    assert 50 < figures["pss_peak_mib"] < 4096
    assert not list(leftovers())


def leftovers() -> list[str]:
    """Reapers whose benchmark has ended."""
    found = [process.info for process in psutil.process_iter(["cmdline", "ppid"])]
    return [
        " ".join(info["cmdline"] or [])
        for info in found
        if str(ROOT / "bench" / "reaper.py") in (info["cmdline"] or []) and info["ppid"] == 1
    ]
