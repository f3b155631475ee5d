"""The series of a panel's queries, over a span of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.grafana.boards import filled
from tests.prometheus import Asked

Json = dict[str, Any]
STEPS = 150


@dataclass(frozen=True)
class Span:
    """From when to when, in Unix seconds."""

    start_s: float
    end_s: float

    @property
    def step_s(self) -> float:
        return (self.end_s - self.start_s) / STEPS


@dataclass(frozen=True)
class Line:
    """One series: minutes since the start, values, and its name."""

    name: str
    minutes: list[float]
    values: list[float]
    labels: dict[str, str]


def series(panel: Json, prometheus: Asked, span: Span) -> list[Line]:
    """Every series of every query of a panel."""
    found = []
    for target in panel["targets"]:
        for each in prometheus.over_time(filled(target["expr"]), span.start_s, span.end_s, span.step_s):
            labels: dict[str, str] = each["metric"]
            parts = re.split(r"{{(\w+)}}", target["legendFormat"])
            name = "".join(labels.get(part, "") if place % 2 else part for place, part in enumerate(parts))
            minutes = [(time_s - span.start_s) / 60 for time_s, _ in each["values"]]
            found.append(Line(name.strip(), minutes, [float(value) for _, value in each["values"]], labels))
    return found
