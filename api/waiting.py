"""`Prefer: wait=N` (RFC 7240): hold an answer until there is something to tell."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from flask import Request

MAX_WAIT_S = 30.0
_FIRST_POLL_S = 0.05
_LAST_POLL_S = 0.25
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d+)\"?", re.IGNORECASE)


def wait_asked(request: Request) -> float:
    """Seconds that the client asks to wait, `MAX_WAIT_S` at most; 0 if it doesn't ask."""
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(float(found[1]), MAX_WAIT_S) if found else 0.0


def wait_while(condition: Callable[[], bool], *, timeout_s: float) -> None:
    """Return when `condition` is False, or after `timeout_s`; no connection is held between looks."""
    deadline_s = time.monotonic() + timeout_s
    pause_s = _FIRST_POLL_S
    while condition() and (left_s := deadline_s - time.monotonic()) > 0:
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.2, _LAST_POLL_S)
