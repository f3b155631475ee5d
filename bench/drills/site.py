"""What the drills break: the whole service, watched by a real Prometheus and a real Alertmanager."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from bench.drills.pager import Alertmanager, Pager
from config import Settings
from embedded import processes
from embedded.ports import any_free_port
from embedded.prometheus import Prometheus
from tests.flows.farm import Farm
from tests.pictures import jpeg
from tests.stack import environment

ROOT = Path(__file__).resolve().parent.parent.parent
_RULES = ROOT / "observability" / "prometheus"
_LINKS = {
    "grafana": "http://localhost:3000",
    "console": "http://localhost:8000",
    "runbooks": "docs/runbooks",
}
_READY_S = 60
# Before Prometheus knows its Alertmanager an alert is lost; it is sent again after a minute.
_TOLD_S = 150
_STORE_MIB = 1280  # above DiskLow's 1 GiB


class Site(Farm):
    """Two workers, production's intervals, and those who watch.

    Args:
        bounded: put the store on a file system of its own that can be filled (needs root).
    """

    def __init__(self, folder: Path, *, bounded: bool) -> None:
        self._stack = ExitStack()
        self.store = folder / "store"
        self.store.mkdir()
        if bounded:
            self._stack.enter_context(_small_disk(self.store))
        try:
            super().__init__(folder)
            own = Settings("", "", "")
            self.settings = replace(
                self.settings,
                lease_s=own.lease_s,
                heartbeat_s=own.heartbeat_s,
                relay_s=own.relay_s,
                scan_s=own.scan_s,
            )
            self.pager = self._stack.enter_context(Pager())
            self._running_drill = self._export()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Site:
        super().__enter__()
        try:
            self._watch()
            self.owner = self.key("drills")
            self.wait_ready(self.upload(jpeg(), self.owner), self.owner)
            self._until(self._scraped, "not every process is scraped")
            self._until(self._heard, "the Watchdog wasn't heard")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._stack.close()

    @contextmanager
    def drill(self, name: str) -> Iterator[None]:
        """Within the block Prometheus sees that a drill is under way: Grafana marks it."""
        self._running_drill.labels(name).set(1)
        try:
            yield
        finally:
            self._running_drill.labels(name).set(0)

    def kill_all_workers(self) -> None:
        """kill -9, masters and all."""
        for name in self.workers:
            os.killpg(self._running[name].pid, signal.SIGKILL)
            self._running[name].wait(_READY_S)

    def flask(self, *arguments: str) -> None:
        """Run `flask --app app ...`, as a runbook says."""
        command = [sys.executable, "-m", "flask", "--app", "app", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment(self.settings), check=True, capture_output=True)

    def _export(self) -> Gauge:
        registry = CollectorRegistry()
        gauge = Gauge(
            "safelight_drill_running", "Whether a drill is under way", ("drill",), registry=registry
        )
        server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
        self._exporter = f"127.0.0.1:{server.server_port}"
        self._stack.callback(thread.join)
        self._stack.callback(server.server_close)
        self._stack.callback(server.shutdown)
        return gauge

    def _watch(self) -> None:
        """Start Alertmanager and Prometheus."""
        alertmanager = Alertmanager(
            self._folder / "alertmanager",
            _program("prometheus-alertmanager"),
            any_free_port(),
            _RULES / "alertmanager.yml",
        )
        alertmanager.prepare(self.pager)
        self._run("alertmanager", alertmanager.command(), alertmanager.ready)
        prometheus = Prometheus(
            self._folder / "prometheus",
            Path(_program("prometheus")),
            any_free_port(),
            f"127.0.0.1:{self.settings.monitoring_port}",
            _RULES / "rules",
            _LINKS,
            f"127.0.0.1:{alertmanager.port}",
            {"drills": self._exporter},
        )
        prometheus.prepare()
        self._prometheus_url = prometheus.url
        self._run("prometheus", prometheus.command(), prometheus.ready)

    def _until(self, condition: Callable[[], bool], failure: str) -> None:
        if not processes.settles(condition, timeout_s=_TOLD_S):
            logs = [(self._folder / f"{name}.log").read_text() for name in ("prometheus", "alertmanager")]
            raise AssertionError(
                "\n".join([failure, self._answer("alerts"), self._answer("alertmanagers"), *logs])
            )

    def _scraped(self) -> bool:
        """Whether every target has been read: what counts up from then on is seen as growth."""
        results = json.loads(self._answer("query?query=up==1"))["data"]["result"]
        roles = Counter(each["metric"].get("role", each["metric"]["job"]) for each in results)
        api, workers = self.settings.api_processes, len(self.workers)
        return roles == {"safelight-pipeline": 1, "drills": 1, "api": api, "worker": workers}

    def _heard(self) -> bool:
        """Whether the Watchdog came through: so will others."""
        return bool(self.pager.fired("watchdog", since_s=0))

    def _answer(self, path: str) -> str:
        with urllib.request.urlopen(f"{self._prometheus_url}/api/v1/{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def _run(self, name: str, command: list[str], ready: Callable[[], bool]) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._stack.callback(_end, process)
        assert processes.settles(ready, timeout_s=_READY_S), (self._folder / f"{name}.log").read_text()


def _end(process: subprocess.Popen[bytes]) -> None:
    processes.end([process.pid], signal.SIGTERM, grace_s=10)
    process.wait()


def _program(name: str) -> str:
    if found := shutil.which(name):
        return found
    raise SystemExit(f"{name} is missing (Debian: apt-get install prometheus prometheus-alertmanager)")


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """A file system of a little over a GiB, in memory, at `folder`."""
    if os.geteuid() != 0:
        raise SystemExit(
            "filling the store needs a file system of its own: run as root, or name other drills"
        )
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_STORE_MIB}m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
