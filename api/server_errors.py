"""What the server itself answers before the app sees a request: a malformed head, one that is too large."""

from __future__ import annotations

import json
import socket

_MOST_CHARACTERS = 200


def write_problem(connection: socket.socket, status: int, reason: str, message: str) -> None:
    """Answer with a problem (RFC 9457), in place of `gunicorn.util.write_error`, which answers with HTML."""
    code = reason.lower().replace(" ", "-")
    problem = {
        "type": f"urn:safelight:problem:{code}",
        "title": reason,
        "status": status,
        "detail": message[:_MOST_CHARACTERS] or reason,
        "code": code,
    }
    body = json.dumps(problem).encode()
    head = [
        f"HTTP/1.1 {status} {reason}",
        "Connection: close",
        "Content-Type: application/problem+json",
        "X-Content-Type-Options: nosniff",
        f"Content-Length: {len(body)}",
    ]
    connection.setblocking(False)  # whoever doesn't read it isn't waited for
    connection.sendall("\r\n".join([*head, "", ""]).encode("ascii") + body)
