"""The servers and workers that `bench.tasks` measures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import redis

from bench.task_worker import NOOP, layer
from db.migrate import upgrade
from db.session import Database
from embedded import processes
from embedded.account import server_account
from embedded.postgres import Postgres
from embedded.postgres_programs import find_programs
from embedded.valkey import Valkey, find_program

_BATCH = 10_000


class Servers:
    """A PostgreSQL and a Valkey of our own, with production's settings.

    Args:
        within: a command that each is started by.
    """

    def __init__(self, folder: Path, within: Sequence[str] = ()) -> None:
        self._within = within
        self._postgres = Postgres(
            folder / "postgres", find_programs(folder / "postgres" / "data"), server_account()
        )
        self._valkey = Valkey(folder / "valkey", find_program())
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.urls = (self._postgres.url("bench"), self._valkey.url())

    def __enter__(self) -> Servers:
        self._postgres.prepare()
        self._valkey.prepare()
        self._start("postgres", self._postgres.command())
        self.start_valkey()
        assert processes.settles(self._postgres.ready, timeout_s=60)
        self._postgres.create_database("bench")
        upgrade(self.urls[0])
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("valkey", "postgres"):
            self.stop(name)

    def start_valkey(self) -> None:
        """Start it, and wait until it answers."""
        self._start("valkey", self._valkey.command())
        assert processes.settles(self._valkey.ready, timeout_s=60)

    def pid(self, name: str) -> int:
        """The process id of `postgres` or `valkey`, or of what it was started by."""
        return self._running[name].pid

    def stop(self, name: str) -> None:
        """Stop one of the two."""
        process = self._running[name]
        processes.end([process.pid], signal.SIGINT, grace_s=10)
        process.wait()

    def _start(self, name: str, command: list[str]) -> None:
        quiet = subprocess.DEVNULL
        self._running[name] = subprocess.Popen(
            [*self._within, *command],
            cwd="/",
            stdout=quiet,
            stderr=quiet,
            start_new_session=bool(self._within),
        )


class Bench:
    """The layer, an observer of its tables, and worker processes."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.urls = servers.urls
        self.database = Database(self.urls[0])
        self.patient = Database(self.urls[0], statement_timeout_s=300)
        self.layer = layer(*self.urls)
        self.client = redis.Redis.from_url(self.urls[1])

    def clear(self) -> None:
        """Empty tables and Redis."""
        with self.database.transaction() as tx:
            tx.execute("TRUNCATE tasks, attempts, events")
        self.client.flushall()

    def submit(self, count: int) -> list[UUID]:
        """Submit no-op tasks in bulk."""
        subjects = [uuid4() for _ in range(count)]
        for start in range(0, count, _BATCH):
            with self.database.transaction() as tx:
                self.layer.submitter.submit_many(tx, NOOP.name, subjects[start : start + _BATCH])
        return subjects

    def queue(self, count: int) -> list[UUID]:
        """Submit tasks, and have all that there are be queued without a message."""
        self.submit(count)
        with self.database.transaction() as tx:
            queued = (
                "UPDATE tasks SET state = 'queued', queued_at = now() WHERE state = 'pending' RETURNING id"
            )
            return list(tx.execute(queued).scalars())

    def scalar(self, statement: str) -> Any:
        """One value."""
        with self.database.transaction() as tx:
            return tx.execute(statement).scalar_one()

    @contextmanager
    def workers(self, mode: str, count: int = 2, threads: int = 48) -> Iterator[subprocess.Popen[bytes]]:
        """`dramatiq bench.task_worker` with that many processes."""
        environment = {
            **os.environ,
            "BENCH_MODE": mode,
            "BENCH_DATABASE": self.urls[0],
            "BENCH_REDIS": self.urls[1],
        }
        arguments = ["bench.task_worker", "--processes", str(count), "--threads", str(threads)]
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "dramatiq"), *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)
