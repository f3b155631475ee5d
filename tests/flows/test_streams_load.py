"""Two hundred open streams, or clients that wait: uploads go on as if there were none."""

from __future__ import annotations

import selectors
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from db.migrate import upgrade
from tests import servers
from tests.fixtures import quick_settings
from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.slow

_NEVER_READY = """
INSERT INTO photos (id, owner, state, media_type, size_bytes, sha256, original_key, received_at)
VALUES (gen_random_uuid(), :owner, 'processing', 'image/jpeg', 1, sha256('x'), 'x', now()) RETURNING id
"""
STREAMS = 200
UPLOADS = 120
CLIENTS = 8


@dataclass
class Crowd:
    """Many clients, read by one thread; `ready` counts the photo-ready events of each."""

    sockets: list[socket.socket]
    refused: int
    ready: dict[int, int]


@contextmanager
def crowd(stack: Stack, keys: list[dict[str, str]], path: str = "/v1/events") -> Iterator[Crowd]:
    """`STREAMS` clients at once, the owners in turn: on streams, or waiting for a photo."""
    selector = selectors.DefaultSelector()
    stop = threading.Event()
    made = Crowd([], 0, {})
    for number in range(STREAMS):
        headers = {"Host": "127.0.0.1", "Prefer": "wait=30", **keys[number % len(keys)]}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        while True:
            connection = socket.create_connection(("127.0.0.1", stack.settings.port))
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            if path != "/v1/events" or connection.recv(12).endswith(b"200"):
                break
            made.refused += 1  # those before it may still be on their way out
            connection.close()
            threading.Event().wait(0.2)
        made.sockets.append(connection)
        made.ready[connection.fileno()] = 0
        selector.register(connection, selectors.EVENT_READ)

    def read() -> None:
        while not stop.is_set():
            for chosen, _ in selector.select(0.1):
                connection = chosen.fileobj
                assert isinstance(connection, socket.socket)
                made.ready[connection.fileno()] += connection.recv(1 << 16).count(b"event: photo-ready")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield made
    finally:
        stop.set()
        reader.join()
        for connection in made.sockets:
            connection.close()


def uploads(stack: Stack, key: dict[str, str], seed: int) -> list[float]:
    """How long each of many uploads took, in seconds."""

    def one(number: int) -> float:
        begun_s = time.monotonic()
        stack.upload(jpeg(64, 64, seed=seed + number), key)
        return time.monotonic() - begun_s

    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(one, range(UPLOADS)))


def p95(took_s: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(took_s, n=20)[-1]


def memory_mib(stack: Stack) -> float:
    """What the API's processes have in memory, together."""
    return float(sum(psutil.Process(pid).memory_info().rss for pid in stack.pids("api"))) / 2**20


@pytest.fixture
def loaded(server_addresses: servers.Addresses, worker_number: int, tmp_path: Path) -> Iterator[Stack]:
    """A service of its own, with the settings of `make run`."""
    url = servers.own_database(server_addresses.postgres_url, f"streams_{worker_number}")
    upgrade(url)
    quick = quick_settings(url, server_addresses.valkey_urls[-2 - worker_number], tmp_path / "store")
    settings = replace(quick, lease_s=20.0, heartbeat_s=5.0, relay_s=1.0, scan_s=5.0)
    with Stack(settings, tmp_path) as stack:
        yield stack


def ready(stack: Stack) -> int:
    """Photos that are ready."""
    return int(stack.query("SELECT count(*) AS n FROM photos WHERE state = 'ready'")[0].n)


@pytest.mark.timeout(400)
def test_two_hundred_streams_and_as_many_waits_leave_uploads_unaffected(
    loaded: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    key, others = loaded.key("anna"), [loaded.key(uuid4().hex) for _ in range(20)]
    told = []

    def wait(expected: int) -> None:
        until(lambda: ready(loaded) >= expected, timeout_s=120)

    def measure(name: str, seed: int) -> float:
        took_s = uploads(loaded, key, seed)
        told.append(
            f"{name}: upload p50 {statistics.median(took_s) * 1000:.0f} ms, p95 {p95(took_s) * 1000:.0f} ms, "
            f"max {max(took_s) * 1000:.0f} ms; API memory {memory_mib(loaded):.0f} MiB"
        )
        wait(seed + UPLOADS)
        return p95(took_s)

    measure("warm", 0)
    alone = measure("no stream", UPLOADS)
    with crowd(loaded, others) as idle:
        beside = measure(f"{STREAMS} streams of others", 2 * UPLOADS)
    with crowd(loaded, [key]) as busy:
        listened = measure(f"{STREAMS} streams of the uploader", 3 * UPLOADS)
        begun_s = time.monotonic()
        while min(busy.ready.values()) < UPLOADS and time.monotonic() < begun_s + 60:
            threading.Event().wait(0.1)
        # a stream may begin a second early, with the last photo of those before
        assert set(busy.ready.values()) <= {UPLOADS, UPLOADS + 1, UPLOADS + 2}
    [photo] = loaded.query(_NEVER_READY, owner="waiting")
    with crowd(loaded, [loaded.key("waiting")], f"/v1/photos/{photo.id}"):
        uploads(loaded, key, 4 * UPLOADS)  # while they all arrive
        waited = measure(f"{STREAMS} clients that wait", 5 * UPLOADS)
    with capsys.disabled():
        print("\n" + "\n".join(told))  # noqa: T201 - the figures that are asked for
    assert beside < 3 * alone + 0.5
    assert idle.refused == 0
    assert waited < 3 * alone + 0.5
    assert listened < 10 * alone + 2
