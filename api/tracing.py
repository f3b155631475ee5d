"""What a request is followed by: its own id, and the id of the trace that it is a part of.

The trace goes on into the tasks that the request submits, and into every log line about them.
"""

from __future__ import annotations

import re
import secrets
from uuid import uuid4

from flask import g
from werkzeug.datastructures import Headers

from observability.logs import logging_with

_TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)
# No underscore, which every API key has: one that was put there by mistake is neither logged nor sent back.
_REQUEST_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")


def request_id(headers: Headers) -> str:
    """The id that a proxy or a client gave in `X-Request-ID`, if it is short and plain; else a new one."""
    given = headers.get("X-Request-ID", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def trace_id(headers: Headers) -> str:
    """The trace id of a valid `traceparent` (W3C Trace Context, 3.2), else a new one: 32 hexadecimal digits.

    Of versions after 00 what stands where version 00 has it is read, as the standard asks for.
    """
    match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    if match is None or (match[1] == "00" and match[3] is not None):
        return secrets.token_hex(16)
    return match[2]


def log_more(**fields: str) -> None:
    """Add fields to all further log lines of the current request."""
    g.logging.enter_context(logging_with(**fields))
