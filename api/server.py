"""gunicorn's threads, with a limit for the head of a request, and with an end that is announced first.

gunicorn closes a connection on the one thread that accepts all others, and waits there up to two seconds
for its client to close it too: twenty clients that don't would hold everybody up, until gunicorn's own master
takes the process for dead. So the waiting is done before, on the request's thread.

gunicorn waits for a connection's first byte as long as it likes, without a thread; from then on it reads the
head on a thread, without any limit of time: clients that send half a head would hold all threads.
"""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from functools import partial
from typing import Any

from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import ThreadWorker

from api.patience import PIECE_BYTES, hear_out, watch

HEAD_S = 15.0
# As long as gunicorn would.
_END_S = 2.0
# gunicorn would read a body a MiB at a time and copy what is left of that with each piece that we take.
SocketUnreader.max_body_chunk = PIECE_BYTES


class Worker(ThreadWorker):
    """A process that serves requests on threads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._here = threading.local()
        self._leaving: threading.Timer | None = None

    def handle_exit(self, sig: Any, frame: Any) -> None:
        """SIGTERM: `/readyz` says 503; the rest goes on until whoever sends requests here has seen it."""
        if getattr(self, "wsgi", None) is None:  # it is starting yet
            super().handle_exit(sig, frame)
            return
        if self._leaving is not None:
            return
        self.wsgi.extensions["safelight"].leaving.set()
        leave = partial(super().handle_exit, sig, None)
        self._leaving = threading.Timer(self.wsgi.extensions["safelight.drain_s"], leave)
        self._leaving.daemon = True
        self._leaving.start()

    def set_accept_enabled(self, enabled: bool) -> None:
        """At the end of the announcement refuse connections: in the queue they would wait for nothing."""
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            for listener in self.sockets:
                listener.close()

    def handle(self, conn: Any) -> Any:
        """Serve a request of a connection, in a thread; its head is waited for `HEAD_S`."""
        with ExitStack() as self._here.head:
            self._here.head.enter_context(watch.limit(conn.sock, within_s=HEAD_S, how=socket.SHUT_RDWR))
            kept = super().handle(conn)
        if not kept:
            hear_out(conn.sock, within_s=_END_S)
        return kept

    def handle_request(self, req: Any, conn: Any) -> Any:
        """The head has come."""
        self._here.head.close()
        return super().handle_request(req, conn)
