"""A request's body as an upload: multipart or raw, streamed to its final place in either form."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from flask import Request
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

from api.errors import Problem
from photos.errors import UploadTooLarge
from photos.intake import Intake, Upload

FIELD = "file"
_CHUNK_BYTES = 256 * 1024
# A multipart body is larger than its file by its headers and its other fields.
_MULTIPART_EXTRA_BYTES = 1024 * 1024
_MAX_PARTS = 50
_MAX_FIELD_BYTES = 64 * 1024
_DISCARD_S = 2.0


@contextmanager
def received(request: Request, intake: Intake, *, max_bytes: int) -> Iterator[tuple[Upload, str | None]]:
    """Receive the request's one file: (upload, file name). If the block raises, nothing of it is kept.

    Raises:
        Problem: no file, or several, or a malformed body.
        UploadTooLarge, StoreAway
        imaging.errors.ImagingError: it is no photo; raised as soon as the first bytes show it.
    """
    uploads: list[Upload] = []

    def begin(*_: Any, **__: Any) -> Upload:
        uploads.append(intake.upload())
        return uploads[-1]

    request.max_content_length = max_bytes + _MULTIPART_EXTRA_BYTES
    try:
        if request.mimetype == "multipart/form-data":
            yield _multipart(request, begin)
        else:
            yield _raw(request, begin)
    except RequestEntityTooLarge as error:
        raise UploadTooLarge(f"the file is larger than {max_bytes:,} bytes") from error
    finally:
        for upload in uploads:
            upload.abort()


def discard_rest(request: Request) -> None:
    """Read what a refused client still sends, for a moment, so that it gets to read the answer."""
    request.max_content_length = None
    deadline_s = time.monotonic() + _DISCARD_S
    try:
        while request.stream.read(_CHUNK_BYTES) and time.monotonic() < deadline_s:
            pass
    except Exception:  # noqa: BLE001 - the answer is settled; the client may be gone
        return


def _multipart(request: Request, begin: Any) -> tuple[Upload, str | None]:
    parser = FormDataParser(
        stream_factory=begin, max_form_memory_size=_MAX_FIELD_BYTES, max_form_parts=_MAX_PARTS, silent=False
    )
    try:
        _, _, files = parser.parse(
            request.stream, request.mimetype, request.content_length, request.mimetype_params
        )
    except ValueError as error:
        raise Problem(400, "malformed-multipart", f"the multipart body is malformed: {error}") from error
    given: list[FileStorage] = files.getlist(FIELD)
    if len(given) != 1:
        found = f"{len(given)} of them" if given else "none"
        raise Problem(400, "one-file-expected", f"send one file part named '{FIELD}'; there is {found}")
    return cast(Upload, given[0].stream), given[0].filename


def _raw(request: Request, begin: Any) -> tuple[Upload, str | None]:
    upload: Upload = begin()
    while chunk := request.stream.read(_CHUNK_BYTES):
        upload.write(chunk)
    _, options = parse_options_header(request.headers.get("Content-Disposition"))
    return upload, options.get("filename")
