"""Originals over a real socket: large ones in parts, and clients that stop reading."""

from __future__ import annotations

import socket
from uuid import uuid4

import pytest

from tests.flows.load import connections_in_use, peak_bytes
from tests.http import Answer
from tests.pictures import large_jpeg
from tests.stack import Stack

MIB = 1024 * 1024
SIZE = 100 * MIB


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


def test_a_large_original_is_given_out_in_parts_and_does_not_show_in_memory(
    stack: Stack, key: dict[str, str]
) -> None:
    data = large_jpeg(SIZE, seed=50)
    path = f"/v1/photos/{stack.upload(data, key)['id']}/original"

    def part(asked: str) -> Answer:
        return stack.ask("GET", path, headers={**key, "Range": asked})

    assert part("bytes=0-99").body == data[:100]
    before = peak_bytes(stack)
    most = part(f"bytes=1-{SIZE - 2}")
    assert (most.status, most.headers["Content-Length"]) == (206, str(SIZE - 2))
    assert most.body == data[1:-1]
    assert peak_bytes(stack) - before < 40 * MIB
    assert part("bytes=-1").body == data[-1:]
    assert part(f"bytes={SIZE}-").status == 416


def test_a_client_that_stops_reading_holds_no_connection_to_the_database(
    stack: Stack, key: dict[str, str]
) -> None:
    path = f"/v1/photos/{stack.upload(large_jpeg(SIZE, seed=51), key)['id']}/original"
    connections = []
    for _ in range(20):
        connection = socket.create_connection(("127.0.0.1", stack.settings.port), timeout=60)
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {key['Authorization']}\r\n\r\n"
        connection.sendall(request.encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        connections.append(connection)
    # more than the pool has
    assert connections_in_use(stack) == 0
    assert stack.get(path.removesuffix("/original"), key).status == 200
    for connection in connections:
        connection.close()
