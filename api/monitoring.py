"""The monitoring port: `/metrics` of the pipeline, and `/internal/targets` for Prometheus.

It is a second bind of the same process. A request is told apart by the port that it came in on, never by
a header or an address: behind a proxy everyone looks like loopback.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response, jsonify
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from werkzeug.exceptions import HTTPException, ServiceUnavailable

logger = logging.getLogger(__name__)

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


def build(pipeline: CollectorRegistry, targets: Callable[[], list[dict[str, object]]]) -> Flask:
    """The app of the monitoring port.

    Args:
        pipeline: what `/metrics` exports.
        targets: reads the live processes, as HTTP service discovery wants them.
    """
    app = Flask(__name__, static_folder=None)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(pipeline), content_type=CONTENT_TYPE_LATEST)

    @app.get("/internal/targets")
    def list_targets() -> Response:
        try:
            return jsonify(targets())
        except Exception as error:  # an empty list would have Prometheus forget them all
            logger.warning("targets can't be read: %s", error)
            raise ServiceUnavailable from error

    @app.errorhandler(HTTPException)
    def plain(error: HTTPException) -> Response:
        return Response(f"{error.code} {error.name}\n", error.code, content_type="text/plain")

    return app


class ByPort:
    """A WSGI app that is `monitoring` on one port and `public` on every other."""

    def __init__(self, public: Wsgi, monitoring: Wsgi, port: int) -> None:
        self._public = public
        self._monitoring = monitoring
        self._port = str(port)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        inner = self._monitoring if environ.get("SERVER_PORT") == self._port else self._public
        return inner(environ, start_response)
