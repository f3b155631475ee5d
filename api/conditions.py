"""Conditional requests and ranges on a file that never changes (RFC 9110, sections 13 and 14)."""

from __future__ import annotations

import re

from flask import Request, Response
from werkzeug.http import unquote_etag

from api.errors import Problem

_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)


def unmodified(request: Request, etag: str) -> Response | None:
    """The 304 if the client has the file already, by its strong `etag`; there are no dates to compare.

    Raises:
        Problem: 412, `If-Match` names another file.
    """
    if "If-Match" in request.headers and etag not in request.if_match:
        raise Problem(412, "precondition-failed", "the file isn't the one that If-Match names")
    if "If-None-Match" in request.headers and request.if_none_match.contains_weak(etag):
        return Response(status=304)
    return None


def byte_range(request: Request, etag: str, size_bytes: int) -> tuple[int, int] | None:
    """The range that is asked for, as (first, end) with `end` not in it; None: all of the file.

    Malformed ranges, other units, several ranges at once, and `If-Range` with another tag or with a date
    mean all of it (RFC 9110, 13.1.5 and 14.2). Only GET knows ranges.

    Raises:
        Problem: 416, the range has nothing of the file.
    """
    asked = _RANGE.fullmatch(request.headers.get("Range", "").strip(" \t"))
    if request.method != "GET" or asked is None or asked.groups() == ("", "") or not _in_range(request, etag):
        return None
    first, last = asked.groups()
    if not first:
        begin, end = max(size_bytes - int(last), 0), size_bytes
    else:
        begin, end = int(first), min(int(last) + 1, size_bytes) if last else size_bytes
        if last and int(last) < int(first):
            return None
    if begin >= end:
        headers = {"Content-Range": f"bytes */{size_bytes}"}
        raise Problem(416, "range-not-satisfiable", f"the file has {size_bytes:,} bytes", headers)
    return begin, end


def _in_range(request: Request, etag: str) -> bool:
    """Whether `If-Range`, if there is one, names this file; a weak tag or a date never does."""
    value = request.headers.get("If-Range")
    return value is None or unquote_etag(value.strip()) == (etag, False)


def tag(request: Request, response: Response) -> None:
    """Give JSON that was asked for an ETag, and make it a 304 if the client has it already."""
    if request.method not in ("GET", "HEAD") or response.status_code != 200 or not response.is_json:
        return
    response.add_etag()
    response.headers.setdefault("Cache-Control", "private, no-cache")
    if "If-None-Match" in request.headers and request.if_none_match.contains_weak(
        response.get_etag()[0] or ""
    ):
        response.status_code = 304
        response.set_data(b"")
