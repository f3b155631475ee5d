"""Alertmanager over the repository's routes, and a pager that writes down what it sends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from embedded import ports, processes


@dataclass(frozen=True)
class Notice:
    """One alert of one notification.

    Attributes:
        at_s: when it came, on the monotonic clock.
        receiver: `page`, `ticket`, `info` or `watchdog`.
        firing: False when it is over.
    """

    at_s: float
    receiver: str
    firing: bool
    labels: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.labels["alertname"]

    def is_of(self, wanted: Mapping[str, str]) -> bool:
        """Whether it carries all of these labels."""
        return wanted.items() <= self.labels.items()


class Pager:
    """Listens on 127.0.0.1 as every receiver; the path names which."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Pager:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, receiver: str) -> str:
        """Where Alertmanager reaches one receiver."""
        return f"http://127.0.0.1:{self._server.server_port}/{receiver}"

    def first(self, wanted: Mapping[str, str], *, firing: bool, since_s: float) -> Notice | None:
        """The first notice since then that an alert with these labels fires, or is over."""
        found = (each for each in list(self.notices) if each.at_s >= since_s and each.firing == firing)
        return next((each for each in found if each.is_of(wanted)), None)

    def fired(self, receiver: str, *, since_s: float) -> set[str]:
        """Names of the alerts that a receiver was told of since then."""
        return {
            each.name
            for each in list(self.notices)
            if each.firing and each.receiver == receiver and each.at_s >= since_s
        }

    def _take(self, receiver: str, body: Mapping[str, Any]) -> None:
        now_s = time.monotonic()
        for alert in body["alerts"]:
            self.notices.append(Notice(now_s, receiver, alert["status"] == "firing", alert["labels"]))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        take = self._take

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                take(self.path.strip("/"), json.loads(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


@dataclass(frozen=True)
class Alertmanager:
    """A server of our own on 127.0.0.1, which sends everything to one pager."""

    folder: Path
    program: str
    port: int
    routes: Path

    def prepare(self, pager: Pager) -> None:
        """Write the repository's configuration with the pager behind every receiver."""
        self.folder.mkdir(parents=True)
        config = yaml.safe_load(self.routes.read_text())
        for receiver in config["receivers"]:
            receiver["webhook_configs"] = [{"url": pager.url(receiver["name"]), "send_resolved": True}]
        (self.folder / "alertmanager.yml").write_text(yaml.safe_dump(config))

    def command(self) -> list[str]:
        """The command line that runs it in the foreground; call `prepare` first."""
        return [
            *processes.tied("TERM"),
            self.program,
            f"--config.file={self.folder / 'alertmanager.yml'}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
        ]

    def ready(self) -> bool:
        """Whether it answers."""
        return ports.answers(self.port, "/-/ready")
