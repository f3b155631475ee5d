"""Prometheus' rules as the tests read them: files, alerts, unit tests, what expressions name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml

Rule = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
PROMETHEUS = ROOT / "observability" / "prometheus"
RULES = sorted((PROMETHEUS / "rules").glob("*.yml"))
UNIT_TESTS = sorted((PROMETHEUS / "tests").glob("*.yml"))


def tool(name: str, *arguments: object) -> str:
    """What one of Prometheus' or Alertmanager's tools says; fails if it is missing or fails."""
    program = shutil.which(name)
    assert program, f"{name} is missing (Debian: apt-get install prometheus prometheus-alertmanager)"
    done = subprocess.run(
        [program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def all_rules() -> list[Rule]:
    """Every recording and alerting rule."""
    return [
        rule
        for path in RULES
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
    ]


def alerts() -> list[Rule]:
    """Every alerting rule; an alert may have several, of different severities."""
    return [rule for rule in all_rules() if "alert" in rule]


def recorded(name: str) -> str:
    """The expression of a recording rule."""
    (expression,) = [rule["expr"] for rule in all_rules() if rule.get("record") == name]
    return str(expression)


def unit_tests() -> list[dict[str, Any]]:
    """Every alert's check in the unit tests: `alertname`, `eval_time`, `exp_alerts`."""
    return [
        check
        for path in UNIT_TESTS
        for test in yaml.safe_load(path.read_text())["tests"]
        for check in test.get("alert_rule_test", [])
    ]


def selectors(expression: promql.Expr) -> Iterator[promql.VectorSelector]:
    """Every series selector within an expression."""
    if isinstance(expression, promql.VectorSelector):
        yield expression
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        inner = getattr(expression, name, None)
        if isinstance(inner, promql.Expr):
            yield from selectors(inner)
    for argument in getattr(expression, "args", None) or []:
        yield from selectors(argument)
