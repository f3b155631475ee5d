"""The benchmark of the whole service, for real, with few photos."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.soak import growth
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


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_backlog_is_worked_off_by_one_slot_and_by_two(tmp_path: Path) -> None:
    report = tmp_path / "figures.json"
    command = ["-m", "bench.backlog", "--count", "6", "--rounds", "1", "--json", str(report)]
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
    document = json.loads(report.read_text())
    assert all(run["photos_per_s"] > 0 for runs in document["rounds"].values() for run in runs)
    assert set(document["rounds"]) == {"1", "2"}
    assert set(document["ratio"]) == {"photos_per_s", "alone_per_s"}
    assert not leftovers()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_is_drawn_over_a_run(tmp_path: Path) -> None:
    picture, report = tmp_path / "memory.svg", tmp_path / "samples.json"
    command = ["-m", "bench.soak", "--count", "60", "--picture", str(picture), "--json", str(report)]
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
    samples = json.loads(report.read_text())
    assert len(samples) >= 2
    assert samples == sorted(samples, key=lambda at: at["time_s"])
    assert all(20 < at["api"] < 4096 and 20 < at["worker"] < 4096 for at in samples)
    assert picture.read_text().startswith("<?xml")
    assert not leftovers()


def test_growth_is_of_what_is_warm() -> None:
    rising = [{"api": 10.0 if number < 2 else 100.0 + number} for number in range(10)]
    assert growth(rising, "api") == pytest.approx(108.5 / 102.5)


def leftovers() -> list[str]:
    """Reapers whose benchmark has ended."""
    found = [process.info for process in psutil.process_iter(["cmdline", "ppid"])]
    return [
        " ".join(info["cmdline"] or [])
        for info in found
        if str(ROOT / "bench" / "reaper.py") in (info["cmdline"] or []) and info["ppid"] == 1
    ]
