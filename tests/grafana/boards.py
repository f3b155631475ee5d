"""The committed dashboards, and the expressions in them as Grafana would send them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser

FOLDER = Path(__file__).parent.parent.parent / "grafana" / "dashboards"
BOARDS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
}
_VALUES = {"$kind": ".*", "$instance": ".*", "$__rate_interval": "15s"}


@dataclass(frozen=True)
class Asked:
    """One expression of a dashboard.

    Attributes:
        place: dashboard, and the panel's or annotation's title.
        template: as it is written.
        expr: with the variables' values.
    """

    place: str
    template: str
    expr: str


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """A dashboard's panels without its sections' titles."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def filled(template: str) -> str:
    """An expression with its variables' values: every kind, every process."""
    for name, value in _VALUES.items():
        template = template.replace(name, value)
    return template


def asked() -> Iterator[Asked]:
    """Every expression of every dashboard."""
    for name, board in BOARDS.items():
        for panel in panels(board):
            for target in panel["targets"]:
                yield _asked(f"{name}: {panel['title']}", target["expr"])
        for annotation in board["annotations"]["list"]:
            yield _asked(f"{name}: {annotation['name']} (annotation)", annotation["target"]["expr"])


def metrics_in(expr: str) -> set[str]:
    """The names of the metrics that an expression reads.

    Raises:
        ValueError: it is no PromQL.
    """
    found: set[str] = set()

    def note(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            assert node.name, f"a selector without a metric: {expr}"
            found.add(node.name)

    promql_parser.walk(promql_parser.parse(expr), note)
    return found


def variables_in(text: str) -> set[str]:
    """The variables that a text uses, but not Grafana's own."""
    return {name for name in re.findall(r"\$\{?(\w+)", text) if not name.startswith("__")}


def _asked(place: str, template: str) -> Asked:
    return Asked(place, template, filled(template))
