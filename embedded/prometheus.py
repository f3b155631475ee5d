"""Prometheus in a folder, over one instance of the service: what `make run` starts where it is installed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from embedded import ports, processes
from embedded.errors import EmbeddedError
from embedded.folders import private_folder

SETTING = "SAFELIGHT_PROMETHEUS_PORT"
_RETENTION = "40d"  # the error budget is that of 30 days


@dataclass(frozen=True)
class Prometheus:
    """A server of our own on 127.0.0.1.

    Args:
        folder: absolute; holds the configuration and the data.
        port: what it listens on.
        monitoring: host:port of the service's `/metrics` and `/internal/targets`.
        rules: the folder of its rules.
        links: where alerts link to: `grafana`, `console` and `runbooks`.
        alertmanager: host:port of the Alertmanager that is told; None: nobody is.
        others: `host:port` by job, of what else is scraped.
        interval: how often it scrapes, and works out the rules.
    """

    folder: Path
    program: Path
    port: int
    monitoring: str
    rules: Path
    links: Mapping[str, str]
    alertmanager: str | None = None
    others: Mapping[str, str] | None = None
    interval: str = "10s"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Make the folder and write the configuration; JSON is YAML too."""
        private_folder(self.folder)
        self._config().write_text(json.dumps(self._configuration(), indent=2))

    def command(self) -> list[str]:
        """The command line that runs the server in the foreground; call `prepare` first."""
        options = {
            "config.file": self._config(),
            "storage.tsdb.path": self.folder / "data",
            "storage.tsdb.retention.time": _RETENTION,
            "web.listen-address": f"127.0.0.1:{self.port}",
            "enable-feature": "exemplar-storage",
            "log.level": "warn",
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        return [*processes.tied("TERM"), str(self.program), *arguments]

    def ready(self) -> bool:
        """Whether it answers, its data loaded."""
        return ports.answers(self.port, "/-/ready")

    def _config(self) -> Path:
        return self.folder / "prometheus.yml"

    def _configuration(self) -> dict[str, object]:
        jobs = {"safelight-pipeline": self.monitoring, **(self.others or {})}
        found = {"url": f"http://{self.monitoring}/internal/targets", "refresh_interval": self.interval}
        told = [{"static_configs": [{"targets": [self.alertmanager]}]}] if self.alertmanager else []
        dropped = {"action": "labeldrop", "regex": "|".join(self.links)}
        return {
            "global": {
                "scrape_interval": self.interval,
                "evaluation_interval": self.interval,
                "external_labels": dict(self.links),
            },
            "rule_files": [str(self.rules / "*.yml")],
            "alerting": {"alert_relabel_configs": [dropped], "alertmanagers": told},
            "scrape_configs": [
                *({"job_name": job, "static_configs": [{"targets": [at]}]} for job, at in jobs.items()),
                {"job_name": "safelight", "http_sd_configs": [found]},
            ],
        }


def find_program() -> Path | None:
    """Where Prometheus is installed, if it is."""
    found = shutil.which("prometheus")
    return Path(found) if found else None


def usable_port(wanted: str, default: int, *, taken: Collection[int]) -> int:
    """The port to listen on.

    Args:
        wanted: what the setting says; empty: the default.
        taken: ports that the service is about to take itself.

    Raises:
        EmbeddedError: the setting is no port, or something listens there already.
    """
    if wanted and not (wanted.isascii() and wanted.isdigit()):
        raise EmbeddedError(f"{SETTING}={wanted!r} is not a whole number")
    port = int(wanted or default)
    if not 0 < port < 65_536:
        raise EmbeddedError(f"{SETTING}={port}: must be between 1 and 65535")
    if port in taken:
        raise EmbeddedError(f"port {port} is the service's own: set {SETTING} to another one")
    return ports.wanted_port(SETTING, port)
