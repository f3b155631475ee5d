"""A request's body as an upload: multipart or raw, streamed to its final place in either form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from api.body import Body
from api.errors import Problem
from photos.intake import Intake, Upload

FIELD = "file"
_CHUNK_BYTES = 256 * 1024
_PART_CHUNK_BYTES = 64 * 1024
# What the decoder may hold: a chunk, what it kept of the one before, and a part's head.
_DECODER_BYTES = 4 * _PART_CHUNK_BYTES
# A multipart body is larger than its file by its headers and its other fields.
_MULTIPART_EXTRA_BYTES = 1024 * 1024
_MAX_PARTS = 50

Begin = Callable[[], Upload]


@contextmanager
def received(request: Request, intake: Intake, *, max_bytes: int) -> Iterator[tuple[Upload, str | None]]:
    """Receive the request's one file: (upload, file name). If the block raises, nothing of it is kept.

    Raises:
        Problem: no file, or several, or a malformed body.
        UploadTooLarge, StoreAway
        imaging.errors.ImagingError: it is no photo; raised as soon as the first bytes show it.
    """
    uploads: list[Upload] = []

    def begin() -> Upload:
        uploads.append(intake.upload())
        return uploads[-1]

    try:
        if request.mimetype == "multipart/form-data":
            body = Body(request, max_bytes=max_bytes + _MULTIPART_EXTRA_BYTES)
            yield _multipart(body, request.mimetype_params.get("boundary", ""), begin)
        else:
            yield _raw(Body(request, max_bytes=max_bytes), begin), _filename(request)
    finally:
        for upload in uploads:
            upload.abort()


def _multipart(body: Body, boundary: str, begin: Begin) -> tuple[Upload, str | None]:
    """The part named `file`, whether or not it has a file name; all other parts are passed over."""
    if not boundary:
        raise Problem(400, "malformed-multipart", "the multipart body's boundary isn't given")
    upload: Upload | None = None
    filename: str | None = None
    into: Upload | None = None
    for event in _events(body, boundary):
        if isinstance(event, Data):
            if into is not None:
                into.write(event.data)
            continue
        into = None
        if event.name == FIELD:
            if upload is not None:
                raise Problem(400, "one-file-expected", f"there is more than one part named '{FIELD}'")
            into = upload = begin()
            filename = event.filename if isinstance(event, File) else None
    if upload is None:
        raise Problem(400, "one-file-expected", f"send one part named '{FIELD}'; there is none")
    return upload, filename


def _events(body: Body, boundary: str) -> Iterator[File | Field | Data]:
    """The form's parts: the head of each, then its data, piece by piece."""
    try:
        decoder = MultipartDecoder(boundary.encode("ascii"), _DECODER_BYTES, max_parts=_MAX_PARTS)
        for chunk in chain(body.chunks(_PART_CHUNK_BYTES), [None]):
            decoder.receive_data(chunk)
            while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
                if isinstance(event, File | Field | Data):
                    yield event
    except ValueError as error:
        raise Problem(400, "malformed-multipart", f"the multipart body is malformed: {error}") from error
    except RequestEntityTooLarge as error:
        detail = f"over {_MAX_PARTS} parts, or over {_DECODER_BYTES:,} bytes around them"
        raise Problem(400, "malformed-multipart", f"the multipart body has {detail}") from error


def _raw(body: Body, begin: Begin) -> Upload:
    upload = begin()
    for chunk in body.chunks(_CHUNK_BYTES):
        upload.write(chunk)
    return upload


def _filename(request: Request) -> str | None:
    """A raw upload's file name: its Content-Disposition's, in the UTF-8 that clients really send."""
    value = request.headers.get("Content-Disposition", "")
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return parse_options_header(value)[1].get("filename")
