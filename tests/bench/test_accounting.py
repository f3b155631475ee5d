"""The accounts of process trees, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.accounting import Clocks, Tree, watched
from bench.running import reaper
from embedded import processes
from tests.waiting import until

BURN = "import time\nwhile time.process_time() < 0.4: pass\n"


@contextmanager
def under_a_reaper(code: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A Python program under a reaper; it can say that it is done by making the file `done`."""
    done = folder / "done"
    command = [*reaper(), sys.executable, "-c", code, str(done)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process, done
    finally:
        processes.end([process.pid], processes.TERM, grace_s=10)
        process.wait()


def waiting(work: str) -> str:
    """A program that does some work, says that it is done, and stays."""
    start, end = (
        "import os, pathlib, subprocess, sys, time",
        "pathlib.Path(sys.argv[1]).touch()\ntime.sleep(60)",
    )
    return f"{start}\n{work}\n{end}\n"


def test_a_running_process_is_counted(tmp_path: Path) -> None:
    with under_a_reaper(waiting(BURN), tmp_path) as (process, done):
        until(done.exists)
        assert 0.35 < Tree(process.pid).cpu_s() < 2


def test_a_child_that_ended_is_counted(tmp_path: Path) -> None:
    work = f"subprocess.run([sys.executable, '-c', {BURN!r}])"
    with under_a_reaper(waiting(work), tmp_path) as (process, done):
        until(done.exists)
        assert 0.35 < Tree(process.pid).cpu_s() < 2


def test_an_orphan_that_ended_is_counted(tmp_path: Path) -> None:
    """Its parent, which ended before it, can't have it in its account."""
    start_and_leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"
    work = f"subprocess.run([sys.executable, '-c', {start_and_leave!r}])"
    with under_a_reaper(waiting(work), tmp_path) as (process, done):
        until(done.exists)
        reaped_s = of_ended(process.pid)
        until(lambda: reaped_s() > 0.35)
        assert Tree(process.pid).cpu_s() > 0.35


def of_ended(reaper_pid: int) -> Callable[[], float]:
    """What a reaper has been given for those that it reaped."""
    process = psutil.Process(reaper_pid)
    return lambda: float(process.cpu_times().children_user + process.cpu_times().children_system)


def test_memory_at_its_peak_is_seen(tmp_path: Path) -> None:
    with under_a_reaper(waiting("data = os.urandom(64 << 20)"), tmp_path) as (process, done):
        with watched([Tree(process.pid)]) as peak:
            until(done.exists)
            until(lambda: peak.pss_bytes > 64 << 20)
        assert peak.pss_bytes < 256 << 20


def test_nothing_outlives_the_reaper(tmp_path: Path) -> None:
    start_and_leave = "import subprocess; subprocess.Popen(['sleep', '600'])"
    work = f"subprocess.run([sys.executable, '-c', {start_and_leave!r}])"
    with under_a_reaper(waiting(work), tmp_path) as (process, done):
        until(done.exists)
        left = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert len(left) == 2
    assert not any(map(processes.alive, left))


def test_what_others_took_is_told_as_a_share_of_the_machine() -> None:
    before = Clocks({"api": 1.0}, own=1.0, machine=10.0, time=100.0)
    after = Clocks({"api": 2.0}, own=1.5, machine=13.5, time=110.0)
    figures = after.since(before, photos=10)
    assert figures["cpu_api_ms"] == 100
    assert figures["cpu_load_ms"] == 50
    assert figures["others_cpu_percent"] == 100 * 2.0 / (10.0 * (os.cpu_count() or 1))
