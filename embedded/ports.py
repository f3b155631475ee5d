"""Ports of 127.0.0.1: is one free, and does a server on it answer."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing, suppress

from embedded.errors import EmbeddedError


def port_free(port: int) -> bool:
    """Whether a server can listen on this port of 127.0.0.1."""
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        probe.listen()
        return True
    return False


def port_near(port: int) -> int:
    """That port of 127.0.0.1 if nothing listens on it now, else any that is free."""
    return port if port < 65_536 and port_free(port) else any_free_port()


def any_free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


def wanted_port(setting: str, port: int) -> int:
    """The port that a setting asks for.

    Raises:
        EmbeddedError: something listens on it already.
    """
    if not port_free(port):
        raise EmbeddedError(f"port {port} is taken: set {setting} to a free one")
    return port


def answers(port: int, path: str, *, host: str = "127.0.0.1") -> bool:
    """Whether the HTTP server on a port answers 200 at a path."""
    host = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104 - all addresses: that one too
    with closing(http.client.HTTPConnection(host, port, timeout=5)) as connection:
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
