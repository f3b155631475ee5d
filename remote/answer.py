"""What the service answers, made fit to be kept: it is untrusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from remote.errors import RemoteRejected, RemoteTrouble

# RFC 9110, 10.2.3: delay in seconds, or a date. Some services give fractions.
_SECONDS = re.compile(r"\s*\d{1,9}(\.\d{1,6})?\s*\Z")
_LONGEST_S = 3_600.0
_DEEPEST = 64
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        done: whether `data` is all that there will be.
        retry_after_s: when the service wants to be asked again, if it says so.
        operation_url: where it wants to be asked, if that is another URL than before.
    """

    done: bool
    data: dict[str, Any]
    retry_after_s: float | None = None
    operation_url: str | None = None


def answer_from(status: int, headers: Mapping[str, str], body: bytes, *, asked: str, of: str) -> Answer:
    """What a 2xx says, in either dialect (docs/analysis.md).

    Args:
        headers: by any case of their names.
        asked: the URL that gave it.
        of: the service's own URL; no other origin's may follow.

    Raises:
        RemoteTrouble: it can't be read.
        RemoteRejected: it says `failed`, or wants another origin to be asked.
    """
    retry_after_s = retry_after(headers)
    location = headers.get("Operation-Location") or headers.get("Location")
    if status == 202 and location:
        said = _object(body) if body.strip() else {}
        return Answer(False, _data(said), retry_after_s, same_origin(location, asked=asked, of=of))
    said = _object(body)
    match said.get("status"):
        case "done" if status != 202:
            return Answer(True, _data(said))
        case "processing":
            return Answer(False, _data(said), retry_after_s)
        case "failed":
            raise RemoteRejected("the service gave it up (status: failed)")
    if status == 202 and asked != of:
        return Answer(False, _data(said), retry_after_s)
    if asked != of:  # an operation's result, bare
        return Answer(True, said)
    raise RemoteTrouble("the service's answer has neither a status that we know nor an operation's URL")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks for, an hour at most; None if it says nothing that makes sense."""
    text = headers.get("Retry-After", "")
    if _SECONDS.match(text):
        return min(float(text), _LONGEST_S)
    try:
        at, now = parsedate_to_datetime(text), parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        return None
    return min(max((_aware(at) - _aware(now)).total_seconds(), 0.0), _LONGEST_S)


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def same_origin(location: str, *, asked: str, of: str) -> str:
    """The absolute form of a URL of the service's own origin (RFC 6454).

    Raises:
        RemoteRejected: it is another's, or no URL.
    """
    try:
        url = urljoin(asked, location)
        fits = origin(url) == origin(of) and "@" not in urlsplit(url).netloc and len(url) <= 2_000
    except ValueError:
        fits = False
    if not fits or not url.isprintable():
        raise RemoteRejected("the service wants another host to be asked, or what it gives is no URL")
    return url


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL; raises ValueError if its port is no number."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body, parse_constant=_refuse, parse_float=_finite)
        if isinstance(said, dict):
            return _clean(said, 0)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    raise RemoteTrouble("the service's answer is no JSON object that can be kept")


def _data(said: dict[str, Any]) -> dict[str, Any]:
    data = said.get("data") or {}
    if not isinstance(data, dict):
        raise RemoteTrouble("the service's `data` is no JSON object")
    return data


def _clean(value: Any, depth: int) -> Any:
    """A JSON value that PostgreSQL takes: not too deep, no NUL, no lone surrogate."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    match value:
        case dict():
            return {_clean(name, depth): _clean(each, depth + 1) for name, each in value.items()}
        case list():
            return [_clean(each, depth + 1) for each in value]
        case str():
            return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number that is too large")
    return number
