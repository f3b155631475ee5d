"""A request's body as an upload: multipart or raw, streamed to its final place in either form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flask import Request
from werkzeug.datastructures import Headers

from api.body import Body
from api.digests import Digests
from api.errors import Problem
from api.multipart import EXTRA_BYTES, FIELD, Part, as_text, events, filename_of
from photos.intake import Intake, Upload

_MAX_PARTS = 50

_BINARY = {"type": "string", "contentMediaType": "application/octet-stream"}
# One file, as it is or in a form (OpenAPI 3.1, 4.8.14.4.5).
BODY = {
    "required": True,
    "description": "one photo",
    "content": {
        "image/*": {"schema": {}},
        "application/octet-stream": {"schema": {}},
        "multipart/form-data": {
            "schema": {"type": "object", "required": [FIELD], "properties": {FIELD: _BINARY}}
        },
    },
}
FORM_OF_SEVERAL = {
    "required": True,
    "description": "photos, each a field of the same name",
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": [FIELD],
                "properties": {FIELD: {"type": "array", "items": _BINARY, "minItems": 1}},
            }
        }
    },
}

Begin = Callable[[], Upload]


@contextmanager
def received(
    request: Request, intake: Intake, *, max_bytes: int, each: Callable[[], None] = lambda: None
) -> Iterator[tuple[Upload, str | None]]:
    """Receive the request's one file: (upload, file name). If the block raises, nothing of it is kept.

    Args:
        each: called for each piece that has come.

    Raises:
        Problem: no file, or several, a malformed body, or one that isn't what its digests say.
        UploadTooLarge, StoreAway
        imaging.errors.ImagingError: it is no photo; raised as soon as the first bytes show it.
    """
    refuse_encoded(request)
    uploads: list[Upload] = []

    def begin() -> Upload:
        uploads.append(intake.upload())
        return uploads[-1]

    try:
        if request.mimetype == "multipart/form-data":
            body = Body(request, max_bytes=max_bytes + EXTRA_BYTES, each=each)
            yield _multipart(body, request.mimetype_params.get("boundary", ""), begin)
        else:
            yield _raw(Body(request, max_bytes=max_bytes, each=each), begin), _filename(request)
    finally:
        for upload in uploads:
            upload.abort()


def refuse_encoded(request: Request) -> None:
    """Raises Problem if the body is compressed: nothing is ever expanded here."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        detail = "send the file as it is; photos are compressed already"
        raise Problem(415, "unsupported-content-encoding", detail, {"Accept-Encoding": "identity"})


def _multipart(body: Body, boundary: str, begin: Begin) -> tuple[Upload, str | None]:
    """The part named `file`, whether or not it has a file name; all other parts are passed over."""
    upload: Upload | None = None
    filename: str | None = None
    digests = Digests(Headers())
    into: Upload | None = None
    for event in events(body.chunks(), boundary, max_parts=_MAX_PARTS):
        if isinstance(event, Part):
            into = None
            if event.name == FIELD:
                if upload is not None:
                    raise Problem(400, "one-file-expected", f"there is more than one part named '{FIELD}'")
                digests = Digests(event.headers)
                into = upload = begin()
                filename = event.filename
        elif into is not None and event is not None:
            into.write(event)
            digests.update(event)
    if upload is None:
        raise Problem(400, "one-file-expected", f"send one part named '{FIELD}'; there is none")
    digests.check()
    return upload, filename


def _raw(body: Body, begin: Begin) -> Upload:
    upload = begin()
    for chunk in body.chunks():
        upload.write(chunk)
    return upload


def _filename(request: Request) -> str | None:
    """A raw upload's file name: its Content-Disposition's, in the UTF-8 that clients really send."""
    return filename_of(as_text(request.headers.get("Content-Disposition", "").encode("latin-1", "replace")))
