"""Clients that send half of what they announced hold no thread for long, with a key or without one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from api.body import SMALL_S
from api.server import HEAD_S
from tests.flows.farm import Farm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

_HEAD = "GET /livez HTTP/1.1\r\nHost: local"
_FORM = (
    "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\n\r\nkey="
)


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    """An API of two threads."""
    farm = Farm(tmp_path, workers=1)
    farm.settings = replace(farm.settings, api_processes=1, api_threads=1, api_waiting=1)
    with farm:
        yield farm


@pytest.mark.parametrize(("half", "limit_s"), [(_HEAD, HEAD_S), (_FORM, SMALL_S)])
def test_as_many_halves_as_there_are_threads_are_got_rid_of(farm: Farm, half: str, limit_s: float) -> None:
    with ExitStack() as connections:
        for _ in range(4):
            connection = socket.create_connection(("127.0.0.1", farm.settings.port))
            connections.enter_context(connection)
            connection.sendall(half.encode())
        begun_s = time.monotonic()
        assert farm.ask("GET", "/livez", timeout_s=120).status == 200
        # Two at a time.
        assert time.monotonic() - begun_s < 2 * limit_s + 20
