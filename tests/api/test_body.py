"""Bodies that stall, and refused clients that are heard out."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from flask import Flask, Request, Response

from api.body import Body, linger
from api.errors import Problem

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection: (ours, the client's)."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


class Stream:
    """Reads from a socket as gunicorn does: until it has it all, or the connection's end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (chunk := self._connection.recv(size - len(data))):
            data += chunk
        return data


def request(connection: socket.socket, length: int) -> Request:
    """The head of a request of so many bytes."""
    return Request(
        {
            "REQUEST_METHOD": "POST",
            "wsgi.input": Stream(connection),
            "gunicorn.socket": connection,
            "CONTENT_LENGTH": str(length),
        }
    )


def test_a_client_that_stalls_is_let_go(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.body._STALL_S", 0.1)
    ours, theirs = pair
    theirs.sendall(b"x" * 10)
    with Flask("test").app_context(), pytest.raises(Problem) as caught:
        list(Body(request(ours, 20), max_bytes=100).chunks())
    assert (caught.value.status, caught.value.code) == (408, "upload-stalled")
    assert ours.gettimeout() is None


def test_a_client_that_trickles_is_let_go_though_it_never_stalls(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.body.PIECE_S", 0.2)
    ours, theirs = pair
    over = threading.Event()

    def trickle() -> None:
        with suppress(BrokenPipeError):
            while not over.wait(0.02):
                theirs.send(b"x")

    sender = threading.Thread(target=trickle)
    sender.start()
    with Flask("test").app_context(), pytest.raises(Problem) as caught:
        list(Body(request(ours, 1_000_000), max_bytes=1_000_000).chunks())
    over.set()
    sender.join()
    assert (caught.value.status, caught.value.code) == (408, "upload-too-slow")
    ours.sendall(b"HTTP/1.1 408\r\n")  # there is room for an answer
    assert theirs.recv(12) == b"HTTP/1.1 408"


def test_a_slow_client_is_waited_for(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.body._STALL_S", 5.0)
    ours, theirs = pair

    def send() -> None:
        for _ in range(4):
            threading.Event().wait(0.05)
            theirs.sendall(b"x" * 5)

    sender = threading.Thread(target=send)
    sender.start()
    with Flask("test").app_context():
        body = b"".join(Body(request(ours, 20), max_bytes=100).chunks())
    sender.join()
    assert body == b"x" * 20


def test_a_refused_client_is_told_the_end_and_heard_out(pair: Pair) -> None:
    ours, theirs = pair
    response = Response(status=401)
    with Flask("test").app_context():
        linger(request(ours, 1_000_000), response)
    closing = threading.Thread(target=response.close)
    closing.start()
    theirs.sendall(b"x" * 1_000_000)  # more than the sockets hold: it would block if nobody read
    assert theirs.recv(1) == b""
    theirs.shutdown(socket.SHUT_WR)
    closing.join(10)
    assert not closing.is_alive()


def test_a_refused_client_that_says_nothing_is_let_go(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.body._LINGER_S", 0.1)
    response = Response(status=401)
    with Flask("test").app_context():
        linger(request(pair[0], 1_000_000), response)
    begun_s = time.monotonic()
    response.close()
    assert time.monotonic() - begun_s < 5


def test_a_client_whose_body_was_read_keeps_its_connection(pair: Pair) -> None:
    ours, theirs = pair
    response = Response(status=415)
    with Flask("test").app_context():
        asked = request(ours, 100_000)
        theirs.sendall(b"x" * 100_000)
        list(Body(asked, max_bytes=1_000_000).chunks())
        linger(asked, response)
    response.close()
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
