"""Hosts of their own for workers: network namespaces, each with an address, on one bridge (needs root)."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from db.migrate import upgrade
from embedded import ports, processes
from embedded.account import server_account
from embedded.postgres import USER, Postgres
from embedded.postgres_programs import find_programs
from embedded.valkey import Valkey, find_program
from tests import s3
from tests.fixtures import quick_settings
from tests.flows.farm import WORKER, Server
from tests.stack import Stack

_BRIDGE = "sl-bridge"
_NETWORK = "10.203.77"
MAIN = f"{_NETWORK}.1"
# Run on a host, before a command: an empty folder over the given one, which this host alone sees.
_EMPTIED = ("sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"')


def ip(*arguments: str) -> None:
    """`ip ARGUMENTS` of iproute2."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Host:
    """A network namespace that reaches the others over the bridge, and nothing else."""

    def __init__(self, number: int) -> None:
        self.name = f"sl-host-{number}"
        self.address = f"{_NETWORK}.{number + 1}"
        self._link = f"sl-link-{number}"

    def __enter__(self) -> Host:
        with ExitStack() as undone:
            ip("netns", "add", self.name)
            undone.callback(ip, "netns", "delete", self.name)
            self._connect()
            undone.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        # The namespace would take it along, but later: the next test's link has the same name.
        ip("link", "delete", self._link)
        ip("netns", "delete", self.name)

    def _connect(self) -> None:
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self._link, "master", _BRIDGE, "up")
        for command in (
            ("addr", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("-n", self.name, *command)

    def cut_off(self) -> None:
        """Pull the cable."""
        ip("link", "set", self._link, "down")

    def reconnect(self) -> None:
        """Plug it in again."""
        ip("link", "set", self._link, "up")


class Hosts(Stack):
    """API and servers on this host, and workers on hosts of their own.

    Args:
        folder: for everything; the store is in it too.
        over_s3: the store is S3, at this host's address, and workers see nothing of `folder`.
    """

    def __init__(self, folder: Path, *, count: int, over_s3: bool = False) -> None:
        self._cleaning = ExitStack()
        self._within: tuple[str, ...] = ()
        self._variables: list[str] = []
        try:
            self._prepare(folder, count, over_s3)
        except BaseException:
            self._cleaning.close()
            raise

    def _prepare(self, folder: Path, count: int, over_s3: bool) -> None:
        ip("link", "add", _BRIDGE, "type", "bridge")
        self._cleaning.callback(ip, "link", "delete", _BRIDGE)
        ip("addr", "add", f"{MAIN}/24", "dev", _BRIDGE)
        ip("link", "set", _BRIDGE, "up")
        self.hosts = [self._cleaning.enter_context(Host(number + 1)) for number in range(count)]
        programs = find_programs(folder / "postgres" / "data")
        postgres = Postgres(folder / "postgres", programs, server_account(), {"listen_addresses": MAIN})
        valkey = Valkey(folder / "valkey", find_program())
        postgres.prepare()
        valkey.prepare()
        with (postgres.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {_NETWORK}.0/24 trust\n")
        self._serve(Server(postgres.command(), postgres.ready))
        listening = ["--bind", MAIN, "--port", "6379", "--protected-mode", "no"]
        self._serve(Server([*valkey.command(), *listening], valkey.ready))
        url = f"postgresql://{USER}@{MAIN}:5432/postgres"
        upgrade(url)
        quick = quick_settings(url, f"redis://{MAIN}:6379/0", folder / "store")
        settings = replace(quick, host="0.0.0.0", monitoring_host="0.0.0.0")
        if over_s3:
            port = self._cleaning.enter_context(s3.served(folder / "s3"))
            bucket = self._cleaning.enter_context(s3.proxied(port, folder / "s3", MAIN))
            settings = replace(settings, storage_url=bucket.url)
            self._variables = [f"{name}={value}" for name, value in bucket.environment.items()]
            self._within = (*_EMPTIED, str(folder))
        super().__init__(settings, folder)

    def __enter__(self) -> Hosts:
        try:
            self.start("api", "gunicorn", "app:create_app()", within=("env", *self._variables))
            for host in self.hosts:
                self.start_worker(host)
            assert processes.settles(self._ready, timeout_s=30), self.log("api")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._cleaning.close()

    def start_worker(self, host: Host) -> None:
        """Start a worker on a host."""
        variables = ("env", f"SAFELIGHT_MONITORING_HOST={host.address}", *self._variables)
        there = ("ip", "netns", "exec", host.name, *self._within, *variables)
        self.start(host.name, "dramatiq", "actors", "--skip-logging", *WORKER, within=there)

    def workers_of(self, state: str) -> Counter[str]:
        """How many tasks in a state each worker process has."""
        return Counter(row.worker for row in self.query("SELECT worker FROM tasks WHERE state = :s", s=state))

    def _serve(self, server: Server) -> None:
        self._cleaning.callback(server.end)

    def _ready(self) -> bool:
        ready = all("worker ready" in self.log(host.name) for host in self.hosts)
        return ready and ports.answers(self.settings.port, "/readyz")
