"""`Idempotency-Key`: an upload that may be sent again (draft-ietf-httpapi-idempotency-key-header-07)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import http_sf
from flask import Request

from api.errors import Problem
from photos.idempotency import Reservation
from photos.intake import Intake

FIELD = "Idempotency-Key"
_MAX_CHARS = 255
PARAMETER = {
    "in": "header",
    "name": FIELD,
    "schema": {"type": "string", "minLength": 1, "maxLength": _MAX_CHARS},
    "description": "the same key and file within 24 h: the same answer, and nothing else is done",
}
_KEY = re.compile(rf"[ -~]{{1,{_MAX_CHARS}}}")


@contextmanager
def reserved(request: Request, intake: Intake, *, owner: str) -> Iterator[Reservation | None]:
    """Hold the request's key for the block, if it has one; what fails gives it up, to be tried again.

    Raises:
        Problem: the key is malformed.
        KeyInUse, DatabaseAway
    """
    key = _key(request.headers.get(FIELD))
    if key is None:
        yield None
        return
    reservation = intake.reserve(key, owner=owner)
    try:
        yield reservation
    except BaseException:
        reservation.release()
        raise


def _key(value: str | None) -> str | None:
    """The key; the draft wants it quoted, and most clients send it bare."""
    if value is None:
        return None
    key: object = value.strip()
    if value.lstrip().startswith('"'):
        try:
            key = cast(tuple[object, object], http_sf.parse(value.encode("latin-1"), tltype="item"))[0]
        except ValueError as error:
            raise _malformed(str(error)) from error
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise _malformed(f"1 to {_MAX_CHARS} printable ASCII characters are expected, a UUID say")
    return key


def _malformed(detail: str) -> Problem:
    return Problem(400, "malformed-idempotency-key", f"{FIELD} is malformed: {detail}")
