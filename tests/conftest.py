"""Real servers for every test that asks: its own database, its own numbered Valkey database."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests import servers

pytest_plugins = ["tests.fixtures"]

_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Settle where this session's servers will be; xdist's processes are told by their controller."""
    given = getattr(config, "workerinput", None)
    config.stash[_FOLDER] = Path(given["servers"] if given else tempfile.mkdtemp(prefix="safelight-tests-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:  # type: ignore[no-untyped-def] # xdist has no types
    """Tell one of xdist's processes where the servers are, and whose life theirs depends on."""
    node.workerinput["servers"] = str(node.config.stash[_FOLDER])
    node.workerinput["session_pid"] = os.getpid()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder if no test asked for servers; else their keeper does when this process has ended."""
    folder = config.stash[_FOLDER]
    if not hasattr(config, "workerinput") and not (folder / "lock").exists():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_addresses(pytestconfig: pytest.Config) -> servers.Addresses:
    """The session's servers. Always those that it started: no setting leads the tests to another one."""
    given = getattr(pytestconfig, "workerinput", {})
    return servers.addresses(pytestconfig.stash[_FOLDER], given.get("session_pid", os.getpid()))


@pytest.fixture(scope="session")
def postgres_server(server_addresses: servers.Addresses) -> str:
    """The URL of a PostgreSQL superuser's connection."""
    return server_addresses.postgres_url


@pytest.fixture(scope="session")
def database_url(postgres_server: str, worker_number: int) -> str:
    """A migrated database of this test process' own; the tests that write to it clean up after themselves."""
    return servers.own_database(postgres_server, f"test_{worker_number}")


@pytest.fixture
def redis_url(server_addresses: servers.Addresses, worker_number: int) -> str:
    """A Valkey database of this test process' own, empty."""
    url = server_addresses.valkey_urls[worker_number]
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
def worker_number() -> int:
    """Which of xdist's test processes this is; 0 without xdist."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder with a path short enough for sockets below it, which pytest's own isn't."""
    made = Path(tempfile.mkdtemp(prefix="sl-"))
    yield made
    shutil.rmtree(made)
