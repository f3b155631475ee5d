"""The Flask app: blueprints, errors, documents, and what every request gets."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry

from api import (
    analysis,
    console,
    documents,
    errors,
    events,
    health,
    key_routes,
    openapi,
    originals,
    photos,
    previews,
    queues,
    shared,
    sign_in,
    system,
    tasks,
    tracing,
)
from api.body import linger, read_small
from api.conditions import tag
from api.hosts import Hosts
from api.rooms import Rooms
from api.tracing import log_more
from observability.metrics import HttpMetrics

logger = logging.getLogger(__name__)

_DOCUMENTS = {
    "API_TITLE": "Safelight",
    "API_VERSION": "v1",
    "OPENAPI_VERSION": "3.1.0",
}
# Of JSON and forms, which are read into memory. Uploads are streamed, and have a limit of their own.
_MOST_BODY_BYTES = 1024 * 1024
_PROBES = ("/livez", "/readyz")
# Their bodies are read by whoever stores them, piece by piece.
_STREAMED = (("photos.Photos", "POST"), ("photos.Batch", "POST"))
# Whatever an answer is, a browser takes it for that, runs nothing in it, and tells nobody where it was.
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_BEARER = {"type": "http", "scheme": "bearer", "bearerFormat": "sl_<id>_<secret>"}


def build(rooms: Rooms, registry: CollectorRegistry, hosts: Hosts) -> Flask:
    """An app over the given rooms; it connects to nothing before the first request."""
    app = Flask(__name__, static_folder=None)
    app.config.update(_DOCUMENTS, MAX_CONTENT_LENGTH=_MOST_BODY_BYTES)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.extensions["safelight"] = rooms
    errors.install(app)
    metrics = HttpMetrics(registry)
    _measure(app, metrics)
    _check_host(app, hosts)
    api = errors.ProblemApi(app)
    api.spec.components.security_scheme("key", _BEARER)
    api.spec.options["security"] = [{"key": []}]
    blueprints = (photos, previews, originals, analysis, shared, events, tasks, queues, system, key_routes)
    for room in blueprints:
        api.register_blueprint(room.blueprint)
    for page in (health, documents, sign_in, console):
        app.register_blueprint(page.blueprint)
    spec = app.extensions["safelight.openapi"] = openapi.complete(api.spec.to_dict())
    for method, route, documented in _operations(app, spec["paths"]):
        metrics.expect(method, route, documented | set(errors.STATUSES))
    return app


def _operations(app: Flask, paths: dict[str, Any]) -> Iterator[tuple[str, str, set[int]]]:
    """Method, route and documented statuses of all that a client may ask for."""
    for rule in app.url_map.iter_rules():
        path = paths.get(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), {})
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            responses = path.get(method.lower(), {}).get("responses", {"200": {}})
            yield method, rule.rule, {int(status) for status in responses if status.isdigit()}


def _measure(app: Flask, metrics: HttpMetrics) -> None:
    """Give every request an id and its log lines that id; count it; finish its answer."""

    @app.before_request
    def begin() -> None:
        g.begun_s = time.monotonic()
        g.request_id = tracing.request_id(request.headers)
        g.trace_id = tracing.trace_id(request.headers)
        g.logging = ExitStack()
        log_more(request_id=g.request_id, trace_id=g.trace_id)
        if photo_id := (request.view_args or {}).get("photo_id"):
            log_more(photo_id=str(photo_id))
        metrics.in_flight.inc()

    @app.after_request
    def answer(response: Response) -> Response:
        if response.status_code >= 400:
            linger(request, response)
        if request.path.startswith("/v1/"):
            tag(request, response)
        for name, value in {**_GUARDS, **g.get("rate_limit_headers", {})}.items():
            response.headers.setdefault(name, value)
        response.headers["X-Request-ID"] = g.request_id
        response.headers["X-Trace-ID"] = g.trace_id
        route = request.url_rule.rule if request.url_rule else "unmatched"
        duration_s = time.monotonic() - g.begun_s
        metrics.answered(_method(), route, response.status_code, duration_s)
        _log_access(route, response, duration_s)
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if "logging" in g:
            metrics.in_flight.dec()
            g.logging.close()


def _check_host(app: Flask, hosts: Hosts) -> None:
    """Answer to our own names alone; but probes come by address."""

    @app.before_request
    def check() -> None:
        if request.path not in _PROBES and not hosts.know(request.host):
            detail = "this service isn't known by the name in Host; SAFELIGHT_HOSTS has its names"
            raise errors.Problem(421, "misdirected-request", detail)
        if request.url_rule is not None and (request.endpoint, request.method) not in _STREAMED:
            read_small(request)


def _log_access(route: str, response: Response, duration_s: float) -> None:
    """The request's one line. No path and no query, where anything may stand: a key, say."""
    logger.log(
        logging.DEBUG if route in _PROBES else logging.INFO,
        "answered",
        extra={
            "method": _method(),
            "route": route,
            "status": response.status_code,
            "duration_s": round(duration_s, 4),
            "bytes_in": g.get("body_bytes", request.content_length or 0),
            "bytes_out": response.content_length,
        },
    )


def _method() -> str:
    """The method as a label: a closed set, whatever a client sends."""
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return request.method if request.method in known else "other"
