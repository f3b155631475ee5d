"""The embedded Valkey."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from embedded import processes
from embedded.errors import EmbeddedError
from embedded.valkey import Valkey, candidate_programs, find_program
from tests.servers import running


@contextmanager
def started(server: Valkey) -> Iterator[int]:
    server.prepare()
    with running(server.command()) as pid:
        assert processes.settles(server.ready, timeout_s=30)
        yield pid


@pytest.fixture
def valkey(folder: Path) -> Valkey:
    return Valkey(folder / "valkey", find_program())


def test_it_keeps_what_its_log_holds_when_it_is_killed(valkey: Valkey) -> None:
    def logged() -> bool:
        return any(b"photo" in log.read_bytes() for log in valkey.folder.rglob("*.aof"))

    with started(valkey) as pid:
        with redis.Redis.from_url(valkey.url()) as client:
            client.set("photo", "1")
        assert processes.settles(logged, timeout_s=5)
        os.kill(pid, signal.SIGKILL)
    with started(valkey), redis.Redis.from_url(valkey.url()) as client:
        assert client.get("photo") == b"1"


def test_it_evicts_nothing_and_listens_on_a_private_socket_only(valkey: Valkey) -> None:
    with started(valkey), redis.Redis.from_url(valkey.url()) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("port") == {"port": "0"}
        assert (valkey.folder / "run").stat().st_mode & 0o077 == 0


def test_its_databases_are_apart(valkey: Valkey) -> None:
    with started(valkey):
        with redis.Redis.from_url(valkey.url(1)) as client:
            client.set("photo", "1")
        with redis.Redis.from_url(valkey.url(2)) as client:
            assert client.dbsize() == 0


def test_the_wheels_program_works(folder: Path) -> None:
    wheel = [program for program in candidate_programs() if "site-packages" in program.parts]
    assert wheel  # the lock installs it
    with started(Valkey(folder / "valkey", find_program(wheel))):
        pass


def test_no_server_at_all_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(EmbeddedError, match="SAFELIGHT_REDIS_URL"):
        find_program(candidates=[folder / "valkey-server"])
