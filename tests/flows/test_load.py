"""Many clients, and slow ones: all uploads are taken, nobody holds up the others, memory stays flat."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

from api.patience import PIECE_S
from embedded import processes
from tests.flows.load import by_clients, connections_in_use, percentile, resident_bytes
from tests.http import Answer
from tests.pictures import jpeg, large_jpeg
from tests.stack import Stack

MIB = 1024 * 1024
UPLOADS, CLIENTS, SLOW_CLIENTS = 1_000, 32, 50


@pytest.fixture(autouse=True)
def drained(stack: Stack) -> Iterator[None]:
    """Leave no backlog to the tests that share the service."""
    yield
    live = "SELECT FROM tasks WHERE state IN ('pending', 'queued', 'processing') LIMIT 1"
    assert processes.settles(lambda: not stack.query(live), timeout_s=400)


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_uploads_by_32_clients_are_all_taken_and_memory_stays_flat(
    stack: Stack, key: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    def upload(number: int) -> Answer:
        return stack.ask("POST", "/v1/photos", body=large_jpeg(200_000, seed=number), headers=key)

    by_clients(CLIENTS, range(200), upload)  # what the first uploads load is there before
    before = resident_bytes(stack)
    done = by_clients(CLIENTS, range(1_000, 1_000 + UPLOADS), upload)
    grown = resident_bytes(stack) - before
    times_s = [took_s for _, took_s in done]
    told = (
        f"\n{UPLOADS} uploads by {CLIENTS} clients: p50 {percentile(times_s, 0.5):.3f} s, "
        f"p95 {percentile(times_s, 0.95):.3f} s, API memory {before / MIB:.0f} MiB {grown / MIB:+.1f} MiB"
    )
    with capsys.disabled():
        print(told)  # noqa: T201
    assert {answer.status for answer, _ in done} == {202}
    assert len({answer.json["id"] for answer, _ in done}) == UPLOADS
    assert grown < 64 * MIB


@pytest.fixture
def trickling(stack: Stack, key: dict[str, str]) -> Iterator[list[socket.socket]]:
    """Clients that have begun an upload, and go on a byte at a time, if at all."""
    head = (
        "POST /v1/photos HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
        f"Authorization: {key['Authorization']}\r\n\r\n"
    ).encode()
    with ExitStack() as open_ones:
        made = []
        for _ in range(SLOW_CLIENTS):
            connection = socket.create_connection(("127.0.0.1", stack.settings.port), timeout=60)
            made.append(open_ones.enter_context(connection))
            connection.sendall(head + jpeg()[:100])
        yield made


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_with_50_slow_clients_other_uploads_go_on_and_they_are_let_go(
    stack: Stack,
    key: dict[str, str],
    trickling: list[socket.socket],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def upload(number: int) -> Answer:
        for connection in trickling[number % 10 :: 10]:
            connection.sendall(b"x")
        return stack.ask("POST", "/v1/photos", body=jpeg(seed=number), headers=key)

    done = by_clients(4, range(5_000, 5_200), upload)
    times_s = [took_s for _, took_s in done]
    in_use = connections_in_use(stack)
    told = (
        f"\n200 uploads beside {SLOW_CLIENTS} slow clients: p50 {percentile(times_s, 0.5):.3f} s, "
        f"p95 {percentile(times_s, 0.95):.3f} s; connections to the database in use then: {in_use}"
    )
    with capsys.disabled():
        print(told)  # noqa: T201
    assert {answer.status for answer, _ in done} == {202}
    assert percentile(times_s, 0.95) < 10
    assert in_use == 0
    persistent = trickling.pop()
    assert processes.settles(lambda: is_answered_after_one_more_byte(persistent), timeout_s=PIECE_S + 30)
    answer = b""
    while b'"upload-too-slow"' not in answer:  # head and body may come apart
        more = persistent.recv(65536)
        assert more, answer
        answer += more
    for connection in trickling:
        assert b'"upload-stalled"' in connection.recv(65536)


def is_answered_after_one_more_byte(connection: socket.socket) -> bool:
    """Whether there is an answer; if not, a byte is sent."""
    readable, _, _ = select.select([connection], [], [], 1)
    if not readable:
        connection.sendall(b"x")
    return bool(readable)
