"""Processes: tie them to their parent, find those of a killed run, end them."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
POLL_S = 0.05


def tied(signal_name: str) -> list[str]:
    """A command prefix that signals the process when its parent dies, so that a killed run leaves nothing.

    Args:
        signal_name: as setpriv(1) has it, `TERM`.

    Returns:
        An empty list where there is no `setpriv` (it is of util-linux).
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, f"--pdeathsig={signal_name}"] if setpriv else []


def marked(name: str, value: str) -> list[int]:
    """Ids of the processes whose environment held `name=value` when they were started, but not our own."""
    mark = f"{name}={value}".encode()
    return [pid for pid in _all() if pid != os.getpid() and mark in _read(pid, "environ").split(b"\0")]


def command_line(pid: int) -> list[str]:
    """A process' arguments; empty when it has ended (a zombie too)."""
    return [os.fsdecode(part) for part in _read(pid, "cmdline").split(b"\0")[:-1]]


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended but isn't reaped yet does not."""
    status = _read(pid, "stat").rpartition(b")")[2].split()
    return bool(status) and status[0] not in (b"Z", b"X")


def end(pids: Iterable[int], first: signal.Signals, *, grace_s: float) -> None:
    """Ask processes to end by `first`, and kill (`SIGKILL`) those still there after `grace_s`."""
    pids = list(pids)
    for signum in (first, signal.SIGKILL):
        for pid in filter(alive, pids):
            _signal(pid, signum)
        if settles(lambda: not any(map(alive, pids)), timeout_s=grace_s):
            return


def settles(condition: Callable[[], bool], *, timeout_s: float) -> bool:
    """Wait until the condition holds; False when it still doesn't after `timeout_s`."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _all() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()] if proc.is_dir() else []


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:  # it has ended, or isn't ours to see
        return b""


def _signal(pid: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signum)
