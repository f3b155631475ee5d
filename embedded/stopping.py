"""Signals that ask a program to stop, as an exception in its main thread, once."""

from __future__ import annotations

import signal
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked us to stop."""


def stop_on_signals() -> None:
    """From now on the first signal raises `Stopped`; further ones don't disturb what is being stopped."""
    for signum in _SIGNALS:
        # under nohup(1) the end of the terminal is ignored, and stays so
        if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, _stop)


def ignore_signals() -> None:
    """From now on no signal disturbs what is being stopped."""
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


def _stop(signum: int, frame: FrameType | None) -> None:
    ignore_signals()
    raise Stopped
