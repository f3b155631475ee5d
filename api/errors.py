"""Every error as `application/problem+json` (RFC 9457). HTTP statuses are chosen here and nowhere else."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import marshmallow as ma
from flask import Flask, Response, g
from flask_smorest import Api
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

from db.transaction import DatabaseAway
from imaging.errors import ImagingError
from photos import errors as photo_errors
from storage.errors import ObjectMissing, StoreAway
from tasks.errors import BacklogFull
from tasks.queues import UnknownQueue

logger = logging.getLogger(__name__)

RETRY_AFTER_S = 5


class Problem(Exception):
    """An error that a route raises itself.

    Args:
        code: what went wrong, as a program reads it; becomes the problem's `type`.
        detail: what went wrong, as a person reads it.
    """

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


class ProblemSchema(ma.Schema):
    """A problem (RFC 9457, section 3), with `errors` for each wrong field of a request."""

    type = ma.fields.String(required=True)
    title = ma.fields.String(required=True)
    status = ma.fields.Integer(required=True)
    detail = ma.fields.String()
    code = ma.fields.String(required=True)
    request_id = ma.fields.String()
    errors = ma.fields.Dict()


# How a route documents a problem: `@blueprint.alt_response(404, description="...", **PROBLEM)`.
PROBLEM: dict[str, Any] = {"schema": ProblemSchema, "content_type": "application/problem+json"}

_AWAY = {"Retry-After": str(RETRY_AFTER_S)}
_STATUSES: tuple[tuple[type[Exception], int, str, Mapping[str, str]], ...] = (
    (photo_errors.EmptyUpload, 400, "empty-upload", {}),
    (photo_errors.UploadTooLarge, 413, "upload-too-large", {}),
    (photo_errors.UploadTooSlow, 408, "upload-too-slow", {}),
    (photo_errors.AnalysisNotConfigured, 409, "analysis-not-configured", {}),
    (photo_errors.KeyInUse, 409, "idempotency-key-in-use", {"Retry-After": str(RETRY_AFTER_S)}),
    (photo_errors.KeyReused, 422, "idempotency-key-reused", {}),
    (photo_errors.PhotoNotFound, 404, "photo-not-found", {}),
    (photo_errors.LinkNotValid, 404, "link-not-valid", {}),
    (photo_errors.NotToBeHad, 404, "not-to-be-had", {}),
    (photo_errors.TaskNotFound, 404, "task-not-found", {}),
    (UnknownQueue, 404, "queue-not-found", {}),
    (DatabaseAway, 503, "database-away", _AWAY),
    (StoreAway, 503, "store-away", _AWAY),
    (ObjectMissing, 500, "object-missing", {}),
)
# What any route may answer.
STATUSES = (400, 401, 403, 404, 405, 409, 413, 415, 421, 422, 429, 500, 503)
# What is our fault is told in general: the log has the particulars, which are nobody else's business.
_DETAILS = {
    "database-away": "the database can't be reached, or is too busy; what was asked for may have been done",
    "store-away": "the store can't be reached, or is full; nothing was kept",
    "object-missing": "the file isn't in the store any more",
}


class ProblemApi(Api):
    """flask-smorest's Api with problem answers, in its documents too."""

    ERROR_SCHEMA = ProblemSchema

    def handle_http_exception(self, error: HTTPException) -> Any:
        """Answer errors of the framework: 404, 405, 413, 422 and the like."""
        status = error.code or 500
        data: dict[str, Any] = getattr(error, "data", None) or {}
        extra = {"errors": data["messages"]} if "messages" in data else {}
        headers = {
            name: value for name, value in error.get_headers() if name not in ("Content-Type", "Location")
        }
        detail = "a part of the request is wrong" if extra else error.description
        return problem(status, _code(status), str(detail or ""), headers, **extra)


def install(app: Flask) -> None:
    """Register the handlers of all but the framework's own errors."""
    app.register_error_handler(Problem, lambda e: problem(e.status, e.code, str(e), e.headers))
    app.register_error_handler(photo_errors.NotMadeYet, _not_yet)
    app.register_error_handler(BacklogFull, _full)
    app.register_error_handler(ImagingError, lambda e: problem(415, e.code, str(e)))
    for exception, status, code, headers in _STATUSES:
        app.register_error_handler(exception, _answer(status, code, headers))
    app.register_error_handler(Exception, _unexpected)


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **extra: Any
) -> Response:
    """One problem as an answer."""
    body = {**problem_body(status, code, detail), "request_id": g.get("request_id"), **extra}
    return Response(json.dumps(body), status, dict(headers or {}), content_type="application/problem+json")


def problem_body(status: int, code: str, detail: str) -> dict[str, Any]:
    """A problem's members (RFC 9457, 3.1), and its code."""
    return {
        "type": f"urn:safelight:problem:{code}",
        "title": HTTP_STATUS_CODES[status],
        "status": status,
        "detail": detail,
        "code": code,
    }


def _answer(status: int, code: str, headers: Mapping[str, str]) -> Any:
    def answer(error: Exception) -> Response:
        if status >= 500:
            logger.error("%s: %s", code, error)
        return problem(status, code, _DETAILS.get(code, str(error)), headers)

    return answer


def _not_yet(error: Exception) -> Response:
    """No error at all: what was asked for is on its way."""
    body = json.dumps({"detail": str(error)})
    return Response(body, 202, {"Retry-After": "1"}, content_type="application/json")


def _full(error: BacklogFull) -> Response:
    return problem(503, "temporary-reduced-capacity", str(error), {"Retry-After": str(error.retry_after_s)})


def _unexpected(error: Exception) -> Response:
    logger.exception("unexpected error")
    return problem(500, "internal-error", "something went wrong here; the log has the request_id")


def _code(status: int) -> str:
    # Not by http.HTTPStatus, whose phrases change with the version of Python.
    return HTTP_STATUS_CODES[status].lower().replace(" ", "-")
