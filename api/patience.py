"""How long a client is waited for that sends or takes a body slowly: each piece of it has its time.

A socket's own timeout bounds one `recv` or `send`, so a client that moves a byte now and then would hold a
thread for ever. Here one thread a process shuts down the connections whose time is over; whoever reads or
writes there finds the end of it at once.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from observability.periodic import Periodic

if TYPE_CHECKING:
    from flask import Request  # gunicorn's master imports this module, and needs none of it

# Each piece costs a dozen calls and a change of threads: with 64 KiB an upload takes a tenth more of the API.
PIECE_BYTES = 256 * 1024
# So at least about 2 KiB/s. EDGE, at its worst, is twice as fast.
PIECE_S = 120.0
_LOOK_S = 1.0
_DRAINED_BYTES = 64 * 1024


@dataclass(eq=False)
class Limit:
    """Until when something is to be done; `over` if that time went by."""

    connection: socket.socket
    ends_s: float
    how: int
    over: bool = False


class Watch:
    """Shuts down connections whose limit is over; its thread starts with the first limit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limits: set[Limit] = set()
        self._thread: Periodic | None = None

    @contextmanager
    def limit(self, connection: socket.socket | None, *, within_s: float, how: int) -> Iterator[Limit | None]:
        """Have the block end within `within_s`, give or take a second, if there is a connection.

        Args:
            how: which way is shut down: SHUT_RD leaves room for an answer.
        """
        if connection is None:
            yield None
            return
        limit = Limit(connection, time.monotonic() + within_s, how)
        with self._lock:
            self._limits.add(limit)
            if self._thread is None:
                self._thread = Periodic("slow-clients", self._look, interval_s=_LOOK_S)
                self._thread.start()
        try:
            yield limit
        finally:
            with self._lock:
                self._limits.discard(limit)

    def _look(self) -> None:
        with self._lock:
            for limit in self._limits:
                if limit.ends_s <= time.monotonic():
                    limit.over = True
                    with suppress(OSError):
                        limit.connection.shutdown(limit.how)


watch = Watch()


def connection_of(request: Request) -> socket.socket | None:
    """The connection that a request came on, where the server tells."""
    connection: socket.socket | None = request.environ.get("gunicorn.socket")
    return connection


def patiently(connection: socket.socket | None, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks for an answer, in pieces, each of which the client must take in its time.

    A client that stops reading would hold a thread for ever otherwise.
    """
    for chunk in chunks:
        for at in range(0, len(chunk), PIECE_BYTES):
            with watch.limit(connection, within_s=PIECE_S, how=socket.SHUT_RDWR):
                yield chunk[at : at + PIECE_BYTES]


def hear_out(connection: socket.socket, *, within_s: float) -> None:
    """Say that we are done, and read until the client has understood; after that nothing here waits for it.

    Closing a connection with bytes unread resets it, and many clients lose the answer then, because they
    send all before they read (RFC 9112, 9.6).
    """
    deadline_s = time.monotonic() + within_s
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while (left_s := deadline_s - time.monotonic()) > 0:
            connection.settimeout(left_s)
            if not connection.recv(_DRAINED_BYTES):
                break
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RD)
