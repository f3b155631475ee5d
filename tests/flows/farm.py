"""The whole service on servers of its own, every part of which can be killed, hung and restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import redis

from db.migrate import upgrade
from db.transaction import DatabaseAway
from embedded import ports, processes
from embedded.account import server_account
from embedded.postgres import Postgres
from embedded.postgres_programs import find_programs
from embedded.valkey import Valkey, find_program
from tests.fixtures import quick_settings
from tests.http import Answer
from tests.stack import ROOT, Stack

_READY_S = 30
_DATABASE = "farm"
# A worker that is killed while it boots shall not hold its master up for Dramatiq's default of 30 s.
WORKER = ("--processes", "1", "--threads", "4", "--worker-fork-timeout", "3000")

# An attempt that completed for a task that isn't completed, or twice; an open attempt of a task that isn't
# in hand; an ended event more or less than once.
_UNTRUE = """
SELECT tasks.id, tasks.state, history.*, told.completed AS told FROM tasks
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE outcome = 'completed') AS completed,
           count(*) FILTER (WHERE outcome IS NULL) AS open
    FROM attempts WHERE task_id = tasks.id) AS history ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE type = 'task-completed') AS completed
    FROM events WHERE task_id = tasks.id) AS told ON true
WHERE history.completed <> (state = 'completed')::int OR told.completed <> history.completed
   OR history.open <> 0 OR state IN ('pending', 'queued', 'processing')
"""


class Server:
    """PostgreSQL or Valkey as a child of the test."""

    def __init__(self, command: list[str], ready: Callable[[], bool]) -> None:
        self._command = command
        self._ready = ready
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        self.process = subprocess.Popen(
            self._command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert processes.settles(self._ready, timeout_s=_READY_S), self._command

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT is PostgreSQL's fast shutdown."""
        os.kill(self.process.pid, how)
        self.process.wait(_READY_S)

    def restart(self) -> None:
        """End and start it again, with its data."""
        self.end()
        self.start()


class Farm(Stack):
    """The API and some workers, each a `dramatiq` of its own, on servers of their own."""

    def __init__(self, folder: Path, *, workers: int = 2, **changes: Any) -> None:
        postgres = Postgres(
            folder / "postgres", find_programs(folder / "postgres" / "data"), server_account()
        )
        valkey = Valkey(folder / "valkey", find_program())
        postgres.prepare()
        valkey.prepare()
        self.postgres = Server(postgres.command(), postgres.ready)
        self.valkey = Server(valkey.command(), valkey.ready)
        postgres.create_database(_DATABASE)
        upgrade(postgres.url(_DATABASE))
        self.workers = [f"worker-{number}" for number in range(workers)]
        quick = quick_settings(postgres.url(_DATABASE), valkey.url(), folder / "store")
        super().__init__(replace(quick, **changes), folder)

    def __enter__(self) -> Farm:
        try:
            self.start("api", "gunicorn", "app:create_app()")
            for name in self.workers:
                self.start_worker(name)
            self.wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for server in (self.valkey, self.postgres):
            if server.process.poll() is None:
                server.end()

    def start_worker(self, name: str, source: Path = ROOT) -> None:
        """Start a worker, as a supervisor would after a crash."""
        self.start(name, "dramatiq", "actors", "--skip-logging", *WORKER, source=source)

    def kill_worker(self, name: str) -> None:
        """kill -9 a worker process in the middle of what it does; its master ends too. Start it again.

        Once in some hundred kills Dramatiq's master was seen to hang (why isn't known): it is killed then.
        """
        assert processes.settles(lambda: bool(self.pids(name)), timeout_s=_READY_S)
        for pid in self.pids(name):
            os.kill(pid, signal.SIGKILL)
        try:
            self._running[name].wait(_READY_S)
        except subprocess.TimeoutExpired:
            self._running[name].kill()
            self._running[name].wait()
        self.start_worker(name)

    def ended(self, name: str) -> bool:
        """Whether a process ends within a moment: a worker's master follows its worker."""
        return processes.settles(lambda: self._running[name].poll() is not None, timeout_s=2)

    def wait_until_ready(self) -> None:
        """Returns when the API and all workers are ready."""
        assert processes.settles(self._ready, timeout_s=_READY_S), self.log("api")

    def pause_worker(self, name: str, signum: signal.Signals) -> None:
        """SIGSTOP makes a zombie of a worker, SIGCONT wakes it."""
        for pid in self.pids(name):
            os.kill(pid, signum)

    def forget_all_messages(self) -> None:
        """FLUSHALL."""
        with redis.Redis.from_url(self.settings.redis_url) as client:
            client.flushall()

    def upload_all(self, pictures: Iterable[bytes], key: dict[str, str]) -> list[str]:
        """Upload pictures by four clients, each again and again until it is accepted; returns the ids."""
        waiting = list(pictures)
        ids: list[str] = []

        def client() -> None:
            while waiting:
                try:
                    picture = waiting.pop()
                except IndexError:
                    return
                while (answer := self._try(picture, key)) is None or answer.status not in (200, 202):
                    threading.Event().wait(0.1)
                ids.append(answer.json["id"])

        clients = [threading.Thread(target=client) for _ in range(4)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        return ids

    def settle(self, ids: list[str], *, timeout_s: float = 90) -> dict[str, int]:
        """Wait until every photo is done, then check that nothing was lost or done twice.

        Returns:
            How many photos are `ready` and `failed`.
        """

        def done() -> bool:
            try:
                return not self.query("SELECT FROM photos WHERE state = 'processing'")
            except DatabaseAway:  # one more restart under way
                return False

        assert processes.settles(done, timeout_s=timeout_s), self.query(
            "SELECT kind, state, attempts, error_type, run_at, clock_timestamp() FROM tasks"
            " WHERE state IN ('pending', 'queued', 'processing')"
        )
        assert processes.settles(lambda: not self.query(_UNTRUE), timeout_s=10), self.query(_UNTRUE)
        states = {str(row.id): row.state for row in self.query("SELECT id, state FROM photos")}
        assert sorted(set(ids)) == sorted(states)
        made = self.query("SELECT photo_id, count(*) AS n FROM previews GROUP BY photo_id")
        assert {row.n for row in made} <= {3}
        reasons = self.query(
            "SELECT DISTINCT subject FROM tasks WHERE state = 'failed' AND error_type IS NOT NULL"
        )
        failed = [photo_id for photo_id, state in states.items() if state == "failed"]
        assert set(failed) <= {str(row.subject) for row in reasons}
        return {"ready": len(made), "failed": len(failed)}

    def _try(self, picture: bytes, key: dict[str, str]) -> Answer | None:
        try:
            return self.ask("POST", "/v1/photos", body=picture, headers=key)
        except OSError:
            return None

    def _ready(self) -> bool:
        return all("worker ready" in self.log(name) for name in self.workers) and ports.answers(
            self.settings.port, "/readyz"
        )
