"""One PostgreSQL and one Valkey for a whole test session, started when the first test asks for them.

Under xdist the tests run in several processes, none of which is there for the whole session. So a keeper, a
process of its own, starts the servers, and stops them when the session's process ends, however it ends:

    python -m tests.servers FOLDER SESSION_PID
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg2
from psycopg2 import sql

from embedded import processes
from embedded.account import server_account
from embedded.folders import private_folder
from embedded.postgres import Postgres
from embedded.postgres_programs import find_programs
from embedded.valkey import Valkey, find_program

DATABASES = 64  # Valkey's numbered ones: more than there are test processes
_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"}
_READY_S = 60


@dataclass(frozen=True)
class Addresses:
    """Where the session's servers are."""

    postgres_url: str
    valkey_urls: list[str]


def addresses(folder: Path, session_pid: int) -> Addresses:
    """The session's servers, started by whoever asks first.

    Raises:
        RuntimeError: they didn't start; with what they said.
    """
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = folder / "addresses.json"
        if not record.exists():
            _start_keeper(folder, session_pid, record)
    return Addresses(**json.loads(record.read_text()))


def own_database(postgres_url: str, name: str) -> str:
    """Create an empty database and return its URL."""
    connection = psycopg2.connect(postgres_url)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    finally:
        connection.close()
    return postgres_url.replace("/postgres?", f"/{name}?")


def _start_keeper(folder: Path, session_pid: int, record: Path) -> None:
    with (folder / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), str(session_pid)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    processes.settles(lambda: record.exists() or keeper.poll() is not None, timeout_s=_READY_S)
    if not record.exists():
        raise RuntimeError(f"the test servers didn't start:\n{(folder / 'keeper.log').read_text()}")
    keeper.returncode = 0  # it outlives this process, and isn't ours to wait for


def keep(folder: Path, session_pid: int) -> None:
    """Run the servers until the session's process ends, then remove their folder."""
    session = os.pidfd_open(session_pid)
    postgres = Postgres(
        folder / "postgres", find_programs(folder / "postgres" / "data"), server_account(), _QUICK
    )
    valkey = Valkey(folder / "valkey", find_program(), databases=DATABASES)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for server in (postgres, valkey):
            server.prepare()
            stack.enter_context(running(server.command()))
        if not processes.settles(lambda: postgres.ready() and valkey.ready(), timeout_s=_READY_S):
            raise RuntimeError("not ready")
        found = Addresses(postgres.url("postgres"), [valkey.url(number) for number in range(DATABASES)])
        unfinished = private_folder(folder) / "addresses.unfinished"
        unfinished.write_text(json.dumps(asdict(found)))
        unfinished.rename(folder / "addresses.json")
        select.select([session], [], [])


@contextmanager
def running(command: list[str]) -> Iterator[int]:
    """Run a server; it is ended (for PostgreSQL a fast shutdown) on the way out. Gives its process id."""
    process = subprocess.Popen(command, cwd="/")
    try:
        yield process.pid
    finally:
        processes.end([process.pid], processes.INT, grace_s=10)
        process.wait()


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
