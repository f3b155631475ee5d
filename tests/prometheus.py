"""A real Prometheus over a stack, for tests: it scrapes each second, with the project's own rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from embedded import processes
from embedded.ports import answers, any_free_port
from tests.http import ask

RULES = Path(__file__).parent.parent / "observability" / "prometheus" / "rules"
_READY_S, _END_S = 30, 10
_CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{folder}/rules/*.yml"]
scrape_configs:
  - job_name: safelight-pipeline
    static_configs: [{{targets: ["127.0.0.1:{monitoring_port}"]}}]
  - job_name: safelight
    http_sd_configs: [{{url: "http://127.0.0.1:{monitoring_port}/internal/targets", refresh_interval: 1s}}]
"""


class Prometheus:
    """A Prometheus as a child, and nobody else's: its data lie in `folder`, which its answers must name.

    Args:
        folder: empty; for configuration, data and log.
        monitoring_port: the stack's.
    """

    def __init__(self, folder: Path, monitoring_port: int) -> None:
        self.port = any_free_port()
        self._folder = folder
        self._monitoring_port = monitoring_port

    def __enter__(self) -> Prometheus:
        program = shutil.which("prometheus")
        assert program, "these tests need Prometheus (Debian: apt-get install prometheus)"
        self._configure()
        command = [
            program,
            f"--config.file={self._folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen([*processes.tied("TERM"), *command], stdout=log, stderr=log)
        try:
            assert processes.settles(self._answers, timeout_s=_READY_S), (self._folder / "log").read_text()
            told = self._get("status/flags")["storage.tsdb.path"]
            assert told == str(self._folder / "data"), f"this Prometheus isn't ours: {told}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        processes.end([self._process.pid], processes.TERM, grace_s=_END_S)
        self._process.wait()

    def newest(self, expr: str) -> list[dict[str, Any]]:
        """The samples of an expression now: `metric` (labels) and `value` (time, text)."""
        found: list[dict[str, Any]] = self._get("query", query=expr)["result"]
        return found

    def over_time(self, expr: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """An expression's series from one Unix time to another: `metric` (labels) and `values`."""
        span = {"start": start_s, "end": end_s, "step": step_s}
        found: list[dict[str, Any]] = self._get("query_range", query=expr, **span)["result"]
        return found

    def names(self) -> set[str]:
        """The names of all metrics that it has."""
        return set(self._get("label/__name__/values"))

    def rules(self) -> list[dict[str, Any]]:
        """Every rule: `type` (recording, alerting), `name`, `query`, `health`."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def _configure(self) -> None:
        """Every group of rules goes each second here, whatever its own interval is."""
        (self._folder / "rules").mkdir(parents=True)
        for path in RULES.glob("*.yml"):
            text = re.sub(r"(?m)^ +interval: .*\n", "", path.read_text())
            (self._folder / "rules" / path.name).write_text(text)
        text = _CONFIGURATION.format(folder=self._folder, monitoring_port=self._monitoring_port)
        (self._folder / "prometheus.yml").write_text(text)

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self._folder / "log").read_text()
        return answers(self.port, "/-/ready")

    def _get(self, path: str, **parameters: Any) -> Any:
        answer = ask(self.port, "GET", f"/api/v1/{path}?{urlencode(parameters)}")
        assert answer.status == 200, f"{parameters}: {answer.body.decode()}"
        return json.loads(answer.body)["data"]
