"""Plain HTTP clients for tests: they follow nothing, raise for nothing, and hide nothing."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask
from werkzeug.datastructures import Headers


@dataclass(frozen=True)
class Answer:
    """One HTTP answer, read to its end."""

    status: int
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


class Client:
    """Asks an app in this process."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Make one request; options are those of werkzeug's `EnvironBuilder`."""
        with self._app.test_client(use_cookies=False).open(path, method=method, **options) as response:
            return Answer(response.status_code, response.headers, response.data)

    def get(self, path: str, **options: Any) -> Answer:
        """Make one GET."""
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> Answer:
        """Make one POST."""
        return self.ask("POST", path, **options)


def ask(
    port: int,
    method: str,
    path: str,
    *,
    body: bytes | Iterable[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 60,
) -> Answer:
    """Make one request on a connection of its own; an iterable body without a length goes in chunks."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=timeout_s, source_address=(_address_of_this_test(), 0)
    )
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        response = connection.getresponse()
        return Answer(response.status, Headers(response.getheaders()), response.read())
    finally:
        connection.close()


def _address_of_this_test() -> str:
    """A loopback address for each test, so that no test's wrong keys are counted as another's."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]  # without "(setup)" or "(call)"
    return "127." + ".".join(str(1 + byte % 254) for byte in hashlib.sha256(test.encode()).digest()[:3])


def multipart(
    *parts: tuple[str, str | None, bytes],
    boundary: str = "a-boundary-of-forty-characters-or-so",
    headers: Mapping[str, str] | None = None,
) -> tuple[bytes, str]:
    """(body, content type) of a form; each part is (field's name, file's name or None, content).

    Args:
        headers: more for the head of each part.
    """
    body = b""
    for name, filename, content in parts:
        disposition = f'form-data; name="{name}"' + (
            f'; filename="{filename}"' if filename is not None else ""
        )
        head = {"Content-Disposition": disposition, **(headers or {})}
        lines = "".join(f"{field}: {value}\r\n" for field, value in head.items())
        body += f"--{boundary}\r\n{lines}\r\n".encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
