"""Clients that keep a connection open that we end hold nobody else up."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.farm import Farm

_LAST_ONE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_CLIENTS = 20


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    """An API of one process."""
    farm = Farm(tmp_path, workers=1)
    farm.settings = replace(farm.settings, api_processes=1)
    with farm:
        yield farm


def test_connections_that_their_clients_do_not_close_hold_nobody_up(farm: Farm) -> None:
    begun_s = time.monotonic()
    with ExitStack() as connections:
        for _ in range(_CLIENTS):
            connection = socket.create_connection(("127.0.0.1", farm.settings.port), timeout=60)
            connections.enter_context(connection)
            connection.sendall(_LAST_ONE)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert farm.ask("GET", "/livez", timeout_s=120).status == 200
        assert time.monotonic() - begun_s < _CLIENTS / 2  # gunicorn by itself: two seconds for each, in turn
