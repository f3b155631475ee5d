"""A real Prometheus over a stack, for tests: it scrapes each second, with the project's own rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from embedded import processes
from embedded.ports import any_free_port
from embedded.prometheus import Prometheus, find_program
from tests.http import ask
from tests.servers import running

RULES = Path(__file__).parent.parent / "observability" / "prometheus" / "rules"
_READY_S = 30


class Asked:
    """Asks a Prometheus over HTTP."""

    def __init__(self, port: int) -> None:
        self._port = port

    def newest(self, expr: str) -> list[dict[str, Any]]:
        """The samples of an expression now: `metric` (labels) and `value` (time, text)."""
        found: list[dict[str, Any]] = self.get("query", query=expr)["result"]
        return found

    def over_time(self, expr: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """An expression's series from one Unix time to another: `metric` (labels) and `values`."""
        span = {"start": start_s, "end": end_s, "step": step_s}
        found: list[dict[str, Any]] = self.get("query_range", query=expr, **span)["result"]
        return found

    def names(self) -> set[str]:
        """The names of all metrics that it has."""
        return set(self.get("label/__name__/values"))

    def rules(self) -> list[dict[str, Any]]:
        """Every rule: `type` (recording, alerting), `name`, `query`, `health`."""
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def get(self, path: str, **parameters: Any) -> Any:
        """What its API answers."""
        answer = ask(self._port, "GET", f"/api/v1/{path}?{urlencode(parameters)}")
        assert answer.status == 200, f"{parameters}: {answer.body.decode()}"
        return json.loads(answer.body)["data"]


@contextmanager
def scraping(folder: Path, monitoring_port: int) -> Iterator[Asked]:
    """A Prometheus of the caller's own, while the context lasts.

    Args:
        folder: absolute; for configuration and data.
        monitoring_port: the stack's.
    """
    program = find_program()
    assert program, "this needs Prometheus (Debian: apt-get install prometheus)"
    monitoring = f"127.0.0.1:{monitoring_port}"
    rules = _quick_rules(folder / "rules")
    server = Prometheus(folder, program, any_free_port(), monitoring, rules, {}, interval="1s")
    server.prepare()
    with running(server.command()) as pid:
        assert processes.settles(lambda: server.ready() or not processes.alive(pid), timeout_s=_READY_S)
        asked = Asked(server.port)
        told = asked.get("status/flags")["storage.tsdb.path"]
        assert told == str(folder / "data"), f"this Prometheus isn't ours: {told}"
        yield asked


def _quick_rules(folder: Path) -> Path:
    """The project's rules, every group of them worked out each second, whatever its own interval is."""
    folder.mkdir(parents=True)
    for path in RULES.glob("*.yml"):
        (folder / path.name).write_text(re.sub(r"(?m)^ +interval: .*\n", "", path.read_text()))
    return folder
