"""`Prefer: wait=N` (RFC 7240): hold an answer until there is something to tell."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from uuid import UUID

from flask import Request, request

from api.auth import current_key
from api.rooms import rooms
from api.stream import Stream, StreamEnded

MAX_WAIT_S = 30.0
# At each event of its photo it looks; this is for when they are held up. Not all at the same moment.
_LOOK_S = (2.0, 6.0)
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d+)\"?", re.IGNORECASE)


def wait_asked(request: Request) -> float:
    """Seconds that the client asks to wait, `MAX_WAIT_S` at most; 0 if it doesn't ask."""
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(float(found[1]), MAX_WAIT_S) if found else 0.0


def wait_while(waits: Callable[[], bool], photo_id: UUID, *, timeout_s: float) -> bool:
    """Return when what is waited for has come, or after `timeout_s`; no connection is held between looks.

    The hub tells of each event of the photo; should it be held up, there is a look every few seconds.

    Args:
        waits: looks whether there is still to be waited.

    Returns:
        False if as many clients wait here already as may: it may be preferred, and can't be demanded.

    Raises:
        DatabaseAway
    """
    places, hub, key = rooms().places, rooms().hub, current_key()
    if not places.take():
        return False
    stream = Stream(key.owner, photo_id, key.id, request.environ.get("gunicorn.socket"))
    deadline_s = time.monotonic() + timeout_s
    try:
        hub.add(stream)
        while waits() and (left_s := deadline_s - time.monotonic()) > 0:
            stream.take(min(random.uniform(*_LOOK_S), left_s))  # noqa: S311
    except StreamEnded:  # the process is stopping, or the client went
        pass
    finally:
        hub.remove(stream)
        places.free()
    return True
