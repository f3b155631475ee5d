"""A plain HTTP client for tests: it follows nothing, raises for nothing, and hides nothing."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One HTTP answer, read to its end."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def multipart(
    *parts: tuple[str, str | None, bytes], boundary: str = "a-boundary-of-forty-characters-or-so"
) -> tuple[bytes, str]:
    """(body, content type) of a form; each part is (field's name, file's name or None, content)."""
    body = b""
    for name, filename, content in parts:
        disposition = f'form-data; name="{name}"' + (
            f'; filename="{filename}"' if filename is not None else ""
        )
        body += f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
