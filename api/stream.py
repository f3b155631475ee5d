"""What one client of an event stream has still to be told, and whether it is still there."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from photos.feed import Event

# A client that is further behind doesn't read: it may come again, and read on from where it was.
_WAITING_MAX = 5_000
# A thread that is still writing to its client so long after its stream's end won't come back by itself.
_ABORT_S = 2.0


class StreamEnded(Exception):
    """The stream was ended from this side: a shutdown, a revoked key, a client that doesn't read."""


class Stream:
    """What one client has still to be told.

    Args:
        connection: to the client, None if there is none that can be watched.
    """

    def __init__(
        self, owner: str, photo_id: UUID | None, key_id: str, connection: socket.socket | None = None
    ) -> None:
        self.owner = owner
        self.photo_id = photo_id
        self.key_id = key_id
        self.ended_s: float | None = None
        self.connection = connection
        self._waiting: deque[Event] = deque()
        self._changed = threading.Condition()

    def offer(self, event: Event) -> None:
        """Add an event, if it is one for this client."""
        if event.owner != self.owner or self.photo_id not in (None, event.photo_id):
            return
        if len(self._waiting) >= _WAITING_MAX:
            self.end()
            return
        with self._changed:
            self._waiting.append(event)
            self._changed.notify()

    def take(self, timeout_s: float) -> list[Event]:
        """The events that wait, or the next one; none if none comes within `timeout_s`.

        Raises:
            StreamEnded
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self.ended_s is not None, timeout_s)
            if self.ended_s is not None:
                raise StreamEnded
            taken = list(self._waiting)
            self._waiting.clear()
            return taken

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to be told."""
        return not self._waiting

    def end(self) -> None:
        """Have the client told no more."""
        with self._changed:
            if self.ended_s is None:
                self.ended_s = time.monotonic()
            self._changed.notify()

    def abort_if_stuck(self) -> None:
        """Break the connection of a stream that ended a while ago: its thread hangs in it."""
        if self.connection and self.ended_s is not None and time.monotonic() > self.ended_s + _ABORT_S:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)


def gone(streams: Iterable[Stream]) -> list[Stream]:
    """Those whose clients closed their side; without this look the second comment would tell."""
    poll = select.poll()
    watched: dict[int, Stream] = {}
    for stream in streams:
        number = -1 if stream.connection is None else stream.connection.fileno()
        if number >= 0:
            watched[number] = stream
            poll.register(number, getattr(select, "POLLRDHUP", 0))
    return [watched[number] for number, _ in poll.poll(0)]
