"""Several files in one form: each is a photo as soon as it has come, whatever becomes of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Request, current_app

from api.body import Body
from api.digests import FIELDS, Digests
from api.errors import Problem
from api.multipart import EXTRA_BYTES, FIELD, Part, events
from api.upload import refuse_encoded
from photos.filenames import tidy
from photos.intake import Intake, Upload
from photos.photo import PhotoView

MAX_FILES = 100
_OTHER_PARTS = 50

Accept = Callable[[Upload, str | None], tuple[PhotoView, int]]


@dataclass(frozen=True)
class Result:
    """What became of one file: a photo, or a problem."""

    status: int
    filename: str | None
    photo: PhotoView | None = None
    problem: dict[str, Any] | None = None


def results(request: Request, intake: Intake, accept: Accept, *, max_bytes: int) -> list[Result]:
    """Take in every part named `file`, and tell of each, in order, what became of it.

    Args:
        accept: makes an upload a photo; gives it with its status.
        max_bytes: how large the whole may be.

    Raises:
        Problem: it is no form, or a malformed one, or there is no file in it. What came before is kept.
        UploadTooLarge: the whole is too large.
    """
    _refuse(request)
    found: list[Result] = []
    body = Body(request, max_bytes=max_bytes + EXTRA_BYTES)
    boundary = request.mimetype_params.get("boundary", "")
    current: _File | None = None
    try:
        for event in events(body.chunks(), boundary, max_parts=MAX_FILES + _OTHER_PARTS):
            if isinstance(event, Part):
                current = _File(intake, event) if event.name == FIELD else None
            elif current is not None:
                if event is not None:
                    current.write(event)
                else:
                    found.append(current.end(accept))
    finally:
        if current is not None:
            current.abort()
    if not found:
        raise Problem(400, "file-expected", f"send one or more parts named '{FIELD}'; there is none")
    return found


def _refuse(request: Request) -> None:
    refuse_encoded(request)
    if request.mimetype != "multipart/form-data":
        raise Problem(415, "multipart-expected", "send a form: multipart/form-data")
    if any(field in request.headers for field in FIELDS):
        # By the time that the whole is known to be wrong, its first files are photos.
        detail = f"state {FIELDS[1]} in the head of each part: the files are taken one by one"
        raise Problem(400, "digest-of-part-expected", detail)


class _File:
    """A file that is coming. What goes wrong with it is kept as its result; the rest of it is passed over."""

    def __init__(self, intake: Intake, part: Part) -> None:
        self._filename = part.filename
        self._upload: Upload | None = None
        self._result: Result | None = None
        with self._alone():
            self._digests = Digests(part.headers)
            self._upload = intake.upload()

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._upload is not None:
            with self._alone():
                self._digests.update(data)
                self._upload.write(data)

    def end(self, accept: Accept) -> Result:
        """It has come whole; what has become of it."""
        if self._upload is not None:
            with self._alone():
                self._digests.check()
                photo, status = accept(self._upload, self._filename)
                self._result = Result(status, tidy(self._filename), photo=photo)
        self.abort()
        assert self._result is not None
        return self._result

    def abort(self) -> None:
        """Leave nothing unfinished."""
        if self._upload is not None:
            self._upload.abort()
            self._upload = None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nothing that goes wrong with this file spoil the others, not even a bug of ours."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - api.errors knows what each of them means
            response = current_app.make_response(current_app.handle_user_exception(error))
            problem = json.loads(response.get_data())
            self._result = Result(response.status_code, tidy(self._filename), problem=problem)
            self.abort()
