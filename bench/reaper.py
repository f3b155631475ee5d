"""Runs a command, and answers for all that comes of it: `python -P bench/reaper.py COMMAND ...`.

It is the child subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)) of all that the command starts: who loses its
parent becomes its child. It reaps every descendant that no other did. The kernel adds their CPU time to its
own account of ended children; none gets lost, and none outlives it. It passes SIGINT and SIGTERM on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from types import FrameType

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 5


def main() -> int:
    """Run until every descendant has ended; gives the command's status."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no subreaper")
    command = subprocess.Popen(sys.argv[1:])

    def pass_on(signum: int, frame: FrameType | None) -> None:
        if command.returncode is None:  # not reaped yet, so the number is its own
            os.kill(command.pid, signum)

    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, pass_on)
    while command.returncode is None:
        pid, status = os.wait()
        if pid == command.pid:
            command.returncode = os.waitstatus_to_exitcode(status)
    _end_orphans()
    return command.returncode


def _end_orphans() -> None:
    """Ask what the command left behind to end, then see to it."""
    left = psutil.Process().children(recursive=True)
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signum)
        _, left = psutil.wait_procs(left, timeout=_GRACE_S)


if __name__ == "__main__":
    sys.exit(main())
