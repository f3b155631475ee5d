"""The committed dashboards: as Python writes them, complete, and about metrics that there are."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client import CollectorRegistry, ProcessCollector

from grafana.board import SOURCE_UID
from grafana.write import plain, texts
from tests.grafana.boards import BOARDS, Asked, asked, metrics_in, panels, variables_in
from tests.prometheus import RULES
from tests.test_docs import exported

ROOT = Path(__file__).parent.parent.parent
# Written by Prometheus itself, and by the drills' exporter.
OF_OTHERS = {"ALERTS", "safelight_drill_running"}
UNITS = {"short", "s", "bytes", "binBps", "ops", "reqps", "percentunit"}
every_board = pytest.mark.parametrize(
    "board", [pytest.param(board, id=name) for name, board in BOARDS.items()]
)
every_expression = pytest.mark.parametrize("each", [pytest.param(each, id=each.place) for each in asked()])


def known() -> set[str]:
    """Every name by which an expression can get at something."""
    of_processes = CollectorRegistry()
    ProcessCollector(registry=of_processes)
    names = exported() | OF_OTHERS
    names |= {f"{name}_{part}" for name in exported() for part in ("bucket", "count", "sum")}
    names |= {sample.name for family in of_processes.collect() for sample in family.samples}
    rules = "\n".join(path.read_text() for path in RULES.glob("*.yml"))
    return names | set(re.findall(r"record: (\S+)", rules))


def test_the_committed_dashboards_are_what_python_writes() -> None:
    written = {path.name: text for path, text in texts().items()}
    committed = {path.name: path.read_text() for path in (ROOT / "grafana" / "dashboards").iterdir()}
    assert committed == written, "run `make dashboards`"


def test_their_addresses_stay() -> None:
    assert {name: board["uid"] for name, board in BOARDS.items()} == {
        "overview": "safelight-overview",
        "queues": "safelight-queues",
        "api": "safelight-api",
        "workers": "safelight-workers",
    }


@every_board
def test_a_dashboard_is_of_grafanas_schema(board: dict[str, Any]) -> None:
    assert board["schemaVersion"] == 42
    assert plain(Dashboard.from_json(board)) == board


@every_board
def test_a_panel_says_what_it_shows_and_in_which_unit(board: dict[str, Any]) -> None:
    for panel in panels(board):
        said = panel["description"]
        assert re.fullmatch(r".+\. Good: .+\.", said), f"{panel['title']}: {said}"
        unit = panel["fieldConfig"]["defaults"]["unit"]
        assert unit in UNITS or unit.startswith("suffix:"), f"{panel['title']}: {unit}"


@every_board
def test_ids_and_titles_are_a_panels_own(board: dict[str, Any]) -> None:
    for field, where in (("id", board["panels"]), ("title", panels(board))):
        values = [panel[field] for panel in where]
        assert len(values) == len(set(values)), values


@every_board
def test_no_panel_lies_on_another_or_outside(board: dict[str, Any]) -> None:
    for one, other in combinations(board["panels"], 2):
        a, b = one["gridPos"], other["gridPos"]
        beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        below = a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
        assert beside or below, f"{one['title']} and {other['title']}"
    assert all(0 <= p["gridPos"]["x"] <= 24 - p["gridPos"]["w"] for p in board["panels"])


@every_board
def test_everything_is_asked_of_the_chosen_data_source(board: dict[str, Any]) -> None:
    queries = [target for panel in panels(board) for target in panel["targets"]]
    queried = [each for each in board["templating"]["list"] if each["type"] == "query"]
    for each in (*panels(board), *queries, *board["annotations"]["list"], *queried):
        assert each["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, each
    for panel in panels(board):
        letters = [target["refId"] for target in panel["targets"]]
        assert letters, panel["title"]
        assert len(letters) == len(set(letters)), panel["title"]


@every_board
def test_every_variable_is_used_and_there(board: dict[str, Any]) -> None:
    declared = {each["name"] for each in board["templating"]["list"]}
    assert variables_in(json.dumps(board)) == declared
    default = next(each for each in board["templating"]["list"] if each["name"] == "datasource")["current"]
    assert default["value"] == SOURCE_UID
    provisioned = (ROOT / "grafana/provisioning/datasources/prometheus.yml").read_text()
    assert f"uid: {SOURCE_UID} " in provisioned


@every_board
def test_a_dashboard_leads_to_the_others_and_to_prometheus_and_console(board: dict[str, Any]) -> None:
    boards, prometheus, console = board["links"]
    assert boards["type"] == "dashboards"
    assert set(boards["tags"]) <= set(board["tags"])
    assert prometheus["url"].startswith("${prometheus}/")
    assert console["url"] == "${console}/"
    assert [each["name"] for each in board["annotations"]["list"]] == ["Deploys", "Drills", "Alerts"]


def test_a_row_of_dead_letters_opens_them_in_the_console() -> None:
    panel = next(each for each in panels(BOARDS["queues"]) if each["type"] == "table")
    (link,) = panel["fieldConfig"]["defaults"]["links"]
    query = "kind=${__data.fields.kind}&error_type=${__data.fields.error_type}"
    assert link["url"] == f"${{console}}/#/dead-letters?{query}"


@every_expression
def test_an_expression_reads_metrics_that_there_are(each: Asked) -> None:
    assert not (metrics_in(each.expr) - known())


@every_expression
def test_rates_are_over_grafanas_interval(each: Asked) -> None:
    assert set(re.findall(r"}\[(.*?)\]", each.template)) <= {"$__rate_interval"}


@pytest.mark.parametrize("metric", sorted(name for name in exported() if name.startswith("safelight_")))
def test_every_metric_stands_in_a_dashboard(metric: str) -> None:
    parts = {metric, *(f"{metric}_{part}" for part in ("bucket", "count", "sum"))}
    assert any(parts & metrics_in(each.expr) for each in asked()), metric
