"""`/openapi.json`, and `/docs`: Swagger UI from a package, without the internet."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, send_from_directory
from werkzeug.exceptions import NotFound

from api import errors

blueprint = Blueprint("documents", __name__)

_OWN = Path(__file__).parent / "docs"
_PACKAGED = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png")
# Swagger UI draws its icons from data: URLs and sets styles on its elements.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """The OpenAPI 3.1 document."""
    return jsonify(current_app.extensions["safelight.openapi"])


@blueprint.get("/docs")
def page() -> Response:
    """The page."""
    response = send_from_directory(_OWN, "index.html")
    response.headers["Content-Security-Policy"] = _POLICY
    return response


@blueprint.get("/docs/<string:name>")
def asset(name: str) -> Response:
    """What the page is made of."""
    if name == "start.js":
        return send_from_directory(_OWN, name)
    if name in _PACKAGED:
        return send_from_directory(str(files("flask_swagger_ui") / "dist"), name, max_age=86_400)
    raise NotFound


# What an answer of a problem's status says, with an example.
_PROBLEMS: dict[int, tuple[str, str, str]] = {
    400: ("The request is malformed", "bad-cursor", "take the cursor from the answer before, unchanged"),
    401: ("No key, or none that is good", "unauthorized", "the key is unknown, expired or revoked"),
    403: ("The key lacks the scope", "missing-scope", "the key lacks the scope photos:write"),
    404: ("There is no such thing, or it is another owner's", "photo-not-found", "there is no photo ..."),
    408: ("The body came too slowly", "upload-stalled", "nothing came for 30 s"),
    409: ("It can't be done as things are", "conflict", "the task is completed"),
    413: ("The body is too large", "upload-too-large", "the body is larger than 268,435,456 bytes"),
    415: ("It is no photo of a format that is known", "not-an-image", "this is no picture"),
    416: ("The range lies behind the end", "range-not-satisfiable", "the file has 1,000 bytes"),
    422: ("A value is wrong", "unprocessable-content", "a part of the request is wrong"),
    429: ("Too many requests", "too-many-requests", "600 per 1 minute"),
    500: ("Something went wrong here", "internal-error", "the log has the request_id"),
    503: ("Something that is needed is away, for now", "database-away", "nothing was changed"),
}
_EXTRA_HEADERS = {
    401: ("WWW-Authenticate",),
    416: ("Content-Range",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_HEADERS: dict[str, Any] = {
    "X-Request-ID": {"description": "names this request in the logs", "schema": {"type": "string"}},
    "X-Trace-ID": {"description": "joins all that came of it in the logs", "schema": {"type": "string"}},
    "Retry-After": {"description": "seconds", "schema": {"type": "integer", "minimum": 0}},
    "WWW-Authenticate": {"description": "RFC 6750", "schema": {"type": "string"}},
    "Content-Range": {"description": "RFC 9110, 14.4", "schema": {"type": "string"}},
}
_EVERY_ANSWER = ("X-Request-ID", "X-Trace-ID")
# What a route can't help: its own answers come from its decorators.
_ANYWHERE = (400, 401, 403, 422, 429, 500, 503)


def complete(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with what holds for every operation: problems, their media type, headers.

    Args:
        spec: as flask-smorest made it from the routes; it isn't changed.
    """
    paths = {
        path: {
            name: _operation(path, said) if "responses" in said else said for name, said in operations.items()
        }
        for path, operations in spec["paths"].items()
    }
    schemas = {**spec["components"]["schemas"]}
    del schemas["PaginationMetadata"]  # flask-smorest's own paging, which isn't ours
    responses = {str(status): _problem(status) for status in _PROBLEMS}
    components = {**spec["components"], "schemas": schemas, "responses": responses, "headers": _HEADERS}
    return {**spec, "servers": [{"url": "/"}], "paths": paths, "components": components}


def _operation(path: str, said: dict[str, Any]) -> dict[str, Any]:
    known = {int(status): answer for status, answer in said["responses"].items() if status.isdigit()}
    statuses = {*known, *_ANYWHERE, *([404] if "{" in path else [])}
    responses = {
        str(status): {"$ref": f"#/components/responses/{status}"}
        if status >= 400
        else {**known[status], "headers": {**_refs(_EVERY_ANSWER), **known[status].get("headers", {})}}
        for status in sorted(statuses)
    }
    return {**said, "responses": responses}


def _problem(status: int) -> dict[str, Any]:
    description, code, detail = _PROBLEMS[status]
    example = errors.problem_body(status, code, detail) | {"request_id": "0b1c..."}
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {
        "description": description,
        "headers": _refs((*_EVERY_ANSWER, *_EXTRA_HEADERS.get(status, ()))),
        "content": {"application/problem+json": content},
    }


def _refs(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
