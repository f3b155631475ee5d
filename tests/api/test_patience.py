"""Clients that take an answer slowly, or stop taking it."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterator

import pytest

from api.patience import PIECE_BYTES, Watch, patiently

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection: (ours, the client's)."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_chunks_are_given_in_small_pieces_and_whole(pair: Pair) -> None:
    chunks = [b"a" * PIECE_BYTES * 3, b"", b"b", b"c" * (PIECE_BYTES + 1)]
    for connection in (None, pair[0]):
        pieces = list(patiently(connection, chunks))
        assert b"".join(pieces) == b"".join(chunks)
        assert max(map(len, pieces)) == PIECE_BYTES


def test_a_client_that_stops_reading_is_let_go(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.patience.PIECE_S", 0.1)
    ours, _ = pair
    endless = patiently(ours, iter(lambda: b"x" * PIECE_BYTES, b""))
    with pytest.raises(BrokenPipeError):
        deque(map(ours.sendall, endless), maxlen=0)


def test_a_client_that_reads_slowly_gets_all_of_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.patience.PIECE_S", 30.0)
    ours, theirs = pair
    taken = 0

    def read() -> None:
        nonlocal taken
        while data := theirs.recv(100_000):
            taken += len(data)
            threading.Event().wait(0.005)

    reader = threading.Thread(target=read)
    reader.start()
    for piece in patiently(ours, [b"x" * 3_000_000]):
        ours.sendall(piece)
    ours.shutdown(socket.SHUT_WR)
    reader.join(30)
    assert taken == 3_000_000


def test_what_ended_in_time_is_left_alone(pair: Pair) -> None:
    watch = Watch()
    ours, theirs = pair
    with watch.limit(ours, within_s=60, how=socket.SHUT_RDWR) as limit:
        assert limit is not None
    limit.ends_s = 0.0
    watch._look()
    ours.sendall(b"x")
    assert theirs.recv(1) == b"x"
    with watch.limit(None, within_s=0, how=socket.SHUT_RDWR) as limit:
        assert limit is None
