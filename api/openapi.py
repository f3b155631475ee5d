"""The OpenAPI document: what flask-smorest makes of the routes, and what holds for all of them."""

from __future__ import annotations

from typing import Any

from api.errors import problem_body

Said = dict[str, Any]

# What an answer of a problem's status says, with an example.
_PROBLEMS: dict[int, tuple[str, str, str]] = {
    400: ("The request is malformed", "bad-cursor", "take the cursor from the answer before, unchanged"),
    401: ("No key, or none that is good", "unauthorized", "the key is unknown, expired or revoked"),
    403: ("The key lacks the scope", "missing-scope", "the key lacks the scope photos:write"),
    404: ("There is no such thing, or it is another owner's", "photo-not-found", "there is no photo ..."),
    408: ("The body came too slowly", "upload-stalled", "nothing came for 30 s"),
    409: ("It can't be done as things are", "task-ended", "the task is completed"),
    412: ("The file is another one", "precondition-failed", "the file isn't the one that If-Match names"),
    413: ("The body is too large", "upload-too-large", "the body is larger than 268,435,456 bytes"),
    414: ("The address is too long; from the server itself", "uri-too-long", "Request Line is too large"),
    415: ("It is no photo of a format that is known", "not-an-image", "this is no picture"),
    416: ("The range has nothing of the file", "range-not-satisfiable", "the file has 1,000 bytes"),
    421: ("Not a host name of this service", "misdirected-request", "this is not photos.example.org"),
    422: ("A value is wrong", "unprocessable-entity", "a part of the request is wrong"),
    429: ("Too many requests", "rate-limited", "the key has used up 6000 requests a minute"),
    500: ("Something went wrong here", "internal-error", "something went wrong here"),
    503: (
        "Something that is needed is away, for now",
        "store-away",
        "the store can't be reached, or is full; nothing was kept",
    ),
}
# What no route can help; its own answers come from its decorators.
_ANYWHERE = (400, 401, 403, 414, 421, 422, 429, 500, 503)
_EVERY_ANSWER = ("X-Request-ID", "X-Trace-ID", "RateLimit", "RateLimit-Policy")
_HEADERS_OF = {
    401: ("WWW-Authenticate",),
    416: ("Content-Range",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_HEADERS: Said = {
    name: {"description": description, "schema": {"type": kind}}
    for name, kind, description in (
        ("X-Request-ID", "string", "names this request in the logs"),
        ("X-Trace-ID", "string", "joins all that came of it in the logs"),
        ("Retry-After", "integer", "seconds"),
        ("WWW-Authenticate", "string", "RFC 6750"),
        ("Content-Range", "string", "RFC 9110, 14.4"),
        ("ETag", "string", "RFC 9110, 8.8.3"),
        ("RateLimit", "string", "what is left of the key's limit, draft-ietf-httpapi-ratelimit-headers-10"),
        ("RateLimit-Policy", "string", "the key's limit; neither is there where none is set"),
    )
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "an `ETag` of an answer before: 304 if it is still the same",
}
_PHOTO = {
    "id": "5766c048-de8d-4616-b1d6-fbedffb39243",
    "state": "ready",
    "filename": "harbour.jpg",
    "media_type": "image/jpeg",
    "size_bytes": 86824,
    "sha256": "9f1be8fd0a449d598e07def3aa55d77c1b6a4076bcecadabd217a50c1b4b4507",
    "width": 5472,
    "height": 3648,
    "created_at": "2026-11-29T21:12:30.936331+00:00",
    "ready_at": "2026-11-29T21:12:31.547000+00:00",
    "taken_at": "2026-08-02T19:41:07",
    "warnings": [],
    "previews": [
        {
            "size": "small",
            "width": 320,
            "height": 213,
            "media_type": "image/jpeg",
            "size_bytes": 11730,
            "url": "/v1/photos/5766c048-de8d-4616-b1d6-fbedffb39243/previews/small?v=3f8afe4e964d4c67",
        }
    ],
    "placeholder": "1QcSHQRnh493V4dIh4eXh1h4kJUI",
    "exif": {"make": "Canon", "model": "EOS 6D", "exposure_time_s": 0.004, "f_number": 2.8, "iso": 400},
    "analysis": None,
    "tasks": [],
}
_STATUS = {"content": {"application/json": {"schema": {"type": "object"}}}, "description": "Yes"}
_PROBES: Said = {
    "/livez": {"get": {"summary": "Whether the process answers.", "responses": {"200": _STATUS}}},
    "/readyz": {
        "get": {
            "summary": "Whether it can take uploads, and which dependencies are up.",
            "responses": {"200": _STATUS, "503": {**_STATUS, "description": "No"}},
        }
    },
    "/openapi.json": {"get": {"summary": "This document.", "responses": {"200": _STATUS}}},
    "/docs": {
        "get": {
            "summary": "This document, to read and to try.",
            "responses": {"200": {"description": "Yes", "content": {"text/html": {}}}},
        }
    },
}


def complete(spec: Said) -> Said:
    """The document with the problems that any route may answer, headers, examples, and the probes.

    Args:
        spec: flask-smorest's; it isn't changed.
    """
    paths = {
        path: {
            name: _operation(path, name, said) if "responses" in said else said
            for name, said in operations.items()
        }
        for path, operations in spec["paths"].items()
    }
    for path, operations in _PROBES.items():
        paths[path] = {
            name: {**said, "security": [], "tags": ["health"]} for name, said in operations.items()
        }
    schemas = {**spec["components"]["schemas"]}
    del schemas["PaginationMetadata"]  # flask-smorest's own paging, which isn't ours
    schemas["Photo"] = {**schemas["Photo"], "examples": [_PHOTO]}
    responses = {str(status): _problem(status) for status in _PROBLEMS}
    components = {**spec["components"], "schemas": schemas, "responses": responses, "headers": _HEADERS}
    return {**spec, "servers": [{"url": "/"}], "paths": paths, "components": components}


def _operation(path: str, method: str, said: Said) -> Said:
    known = {int(status): answer for status, answer in said["responses"].items() if status.isdigit()}
    tagged = method == "get" and "application/json" in known.get(200, {}).get("content", {})
    if tagged:
        known = {**known, 304: {"description": "It is still the same"}}
        said = {**said, "parameters": [*said.get("parameters", []), _IF_NONE_MATCH]}
    statuses = {*known, *_ANYWHERE, *([404] if "{" in path else [])}
    responses = {str(status): _answer(status, known.get(status), tagged) for status in sorted(statuses)}
    return {**said, "responses": responses}


def _answer(status: int, known: Said | None, tagged: bool) -> Said:
    if status >= 400:
        if known is None or "description" not in known:
            return {"$ref": f"#/components/responses/{status}"}
        return {**_problem(status), "description": known["description"]}
    assert known is not None
    names = (*_EVERY_ANSWER, *_HEADERS_OF.get(status, ()), *(["ETag"] if tagged else []))
    return {**known, "headers": {**_refs(names), **known.get("headers", {})}}


def _problem(status: int) -> Said:
    description, code, detail = _PROBLEMS[status]
    example = {**problem_body(status, code, detail), "request_id": "0b1c8f3a5d7e49a6b2c4d6e8f0a1b3c5"}
    return {
        "description": description,
        "headers": _refs((*_EVERY_ANSWER, *_HEADERS_OF.get(status, ()))),
        "content": {
            "application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "example": example,
            }
        },
    }


def _refs(names: tuple[str, ...]) -> Said:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
