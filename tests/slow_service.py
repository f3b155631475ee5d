"""The example's slow service as a real server, whose behaviour a test sets and whose calls it counts."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from examples.slow_service import Behaviour, Jobs, create_app


class _Keeping(WSGIRequestHandler):
    """Keeps connections, and says nothing of requests."""

    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving(app: Flask, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve an app on a free port until the block ends; gives its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Keeping, ssl_context=tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class SlowService:
    """The running service."""

    address: str
    behaviour: Behaviour
    jobs: Jobs

    def url(self, dialect: str) -> str:
        """Where it speaks one of its dialects: `body` or `operations`."""
        return f"{self.address}/{dialect}"


@contextmanager
def slow_service(behaviour: Behaviour) -> Iterator[SlowService]:
    """Run the slow service until the block ends."""
    jobs = Jobs()
    with serving(create_app(behaviour, jobs)) as address:
        yield SlowService(address, behaviour, jobs)
