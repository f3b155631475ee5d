"""The service, asked over HTTP: whether it has a file, and to take one."""

from __future__ import annotations

import base64
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import requests

_TIMEOUT_S = (10, 120)
# Of an answer that isn't 200 or 202: the same may succeed later.
_LATER = (408, 425, 429, 500, 502, 503, 504)
# About two minutes: a restart of the service, and what stands before it.
ATTEMPTS = 12
_BASE_S, _CAP_S = 0.5, 30.0


class NotAllowed(Exception):
    """The key is wrong or lacks a scope: no file will be taken with it."""


class Refused(Exception):
    """The service won't take the file, whenever it is sent."""


class Failed(Exception):
    """The service couldn't be asked, though that was tried again and again."""


@dataclass(frozen=True)
class Sent:
    """An answer to an upload; `created` is false if the owner had the file already."""

    photo_id: str
    created: bool


class Service:
    """One service and one key; each thread has a connection of its own.

    Args:
        address: `http://host:port`.
        stopped: set by whoever wants no more to be tried.
    """

    def __init__(self, address: str, key: str, stopped: threading.Event) -> None:
        self._address = address.rstrip("/")
        self._key = key
        self._stopped = stopped
        self._local = threading.local()

    def check(self) -> None:
        """Raises NotAllowed, Failed, if nothing could be sent there."""
        me = self._ask("GET", "/v1/me", attempts=1).json()
        missing = sorted({"photos:read", "photos:write"} - set(me["scopes"]))
        if missing and "admin" not in me["scopes"]:
            raise NotAllowed(f"it lacks the scope {' and '.join(missing)}")

    def find(self, sha256: bytes) -> str | None:
        """The id of the photo with that content, if there is one.

        Raises:
            NotAllowed, Refused, Failed
        """
        photos = self._ask("GET", f"/v1/photos?limit=1&sha256={sha256.hex()}").json()["photos"]
        return str(photos[0]["id"]) if photos else None

    def send(self, path: Path, sha256: bytes, *, analysis: bool, each: Callable[[int], None]) -> Sent:
        """Upload a file; whatever is sent twice is one photo.

        Args:
            each: called with the number of bytes that have been sent; negative if they must be sent again.

        Raises:
            NotAllowed, Refused, Failed
            OSError: the file can't be read.
        """
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(_text(path.name), safe='')}",
            "Repr-Digest": f"sha-256=:{base64.b64encode(sha256).decode()}:",
        }
        query = "?analysis=true" if analysis else ""
        with path.open("rb") as file:
            body = _Body(file, each)
            answer = self._ask("POST", f"/v1/photos{query}", headers=headers, body=body)
        return Sent(str(answer.json()["id"]), answer.status_code == 202)

    def wait(self, photo_id: str) -> dict[str, Any] | None:
        """The photo, once it is no longer being processed; None if nobody wants to wait any more.

        Raises:
            NotAllowed, Refused, Failed
        """
        while not self._stopped.is_set():
            answer = self._ask("GET", f"/v1/photos/{photo_id}", headers={"Prefer": "wait=20"})
            photo: dict[str, Any] = answer.json()
            if photo["state"] != "processing":
                return photo
            if "Preference-Applied" not in answer.headers:  # too many wait there already
                self._stopped.wait(2.0)
        return None

    def _ask(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str] | None = None,
        body: _Body | None = None,
        attempts: int = ATTEMPTS,
    ) -> requests.Response:
        """Ask until there is an answer: backoff with full jitter, or as long as the service says."""
        told = "stopped"
        for attempt in range(attempts):
            if attempt and self._stopped.is_set():
                break
            wait_s = random.uniform(0, min(_CAP_S, _BASE_S * 2**attempt))  # noqa: S311
            try:
                answer = self._session().request(
                    method,
                    self._address + path,
                    headers=headers,
                    data=body and body.from_its_beginning(),
                    timeout=_TIMEOUT_S,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                told = _reason(error)
            else:
                if answer.status_code not in _LATER:
                    return _checked(answer)
                told = _detail(answer)
                wait_s = max(wait_s, _retry_after_s(answer))
            if attempt + 1 < attempts:
                self._stopped.wait(wait_s)
        raise Failed(told)

    def _with_key(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.auth = self._with_key  # a ~/.netrc would take a mere header's place
        session: requests.Session = self._local.session
        return session


class _Body:
    """A file as requests takes it: with its length, so that one that is too large is refused at once."""

    def __init__(self, file: BinaryIO, each: Callable[[int], None]) -> None:
        self._file = file
        self._each = each
        self._sent_bytes = 0

    def from_its_beginning(self) -> _Body:
        """The same, to be read once more."""
        self._each(-self._sent_bytes)
        self._sent_bytes = 0
        self._file.seek(0)
        return self

    def __len__(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._sent_bytes += len(piece)
        self._each(len(piece))
        return piece


def _checked(answer: requests.Response) -> requests.Response:
    if answer.status_code in (200, 202):
        return answer
    if answer.status_code in (401, 403):
        raise NotAllowed(_detail(answer))
    if "(digest-mismatch)" in _detail(answer):
        raise Failed("it changed while it was being sent")
    raise Refused(_detail(answer))


def _detail(answer: requests.Response) -> str:
    try:
        problem = answer.json()
        return f"{problem['detail']} ({problem['code']})"
    except (ValueError, KeyError, TypeError):
        return f"the service answered {answer.status_code}"


def _retry_after_s(answer: requests.Response) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), 120.0) if text.isdigit() else 0.0


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return "the service didn't answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "the service's certificate isn't trusted"
    return "the service can't be reached, or broke the connection"


def _text(name: str) -> str:
    """A file's name as text, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
