"""The alerts: each fires and stays quiet when it should, says what to do, and asks for what is exported."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import click
import promql_parser as promql
import pytest
import yaml

from app import create_app
from observability.metrics import SECONDS
from photos.kinds import ERROR_TYPES, OF_UPLOADS
from tests.fixtures import quick_settings
from tests.observability import rules
from tests.test_docs import exported

RUNBOOKS = rules.ROOT / "docs" / "runbooks"
NAMES = sorted({rule["alert"] for rule in rules.alerts()})
DASHBOARDS = {"safelight-overview", "safelight-queues", "safelight-api", "safelight-workers"}
SEVERITIES = {"page", "ticket", "info", "none"}
_OF_PROMETHEUS = {"up"}
_SUFFIX = re.compile("_(bucket|count|sum)$")


def ids(path: Path) -> str:
    """A test's parameter by its file's name."""
    return path.stem


def test_prometheus_takes_its_configuration_and_rules() -> None:
    rules.tool("promtool", "check", "config", rules.PROMETHEUS / "prometheus.yml")
    rules.tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", *rules.RULES)


def test_alertmanager_takes_its_configuration() -> None:
    rules.tool("amtool", "check-config", rules.PROMETHEUS / "alertmanager.yml")


@pytest.mark.parametrize("path", rules.UNIT_TESTS, ids=ids)
def test_the_rules_do_what_their_unit_tests_say(path: Path) -> None:
    rules.tool("promtool", "test", "rules", path)


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_is_proven_to_fire_and_to_stay_quiet(name: str) -> None:
    checks = [check["exp_alerts"] for check in rules.unit_tests() if check["alertname"] == name]
    proven = {alert["exp_labels"]["severity"] for expected in checks for alert in expected}
    assert proven == {rule["labels"]["severity"] for rule in rules.alerts() if rule["alert"] == name}
    assert [] in checks or name == "Watchdog"  # which is never quiet


@pytest.mark.parametrize("rule", rules.alerts(), ids=lambda rule: f"{rule['alert']}-{rule['labels']}")
def test_every_alert_says_how_bad_it_is_and_where_to_look(rule: rules.Rule) -> None:
    assert rule["labels"]["severity"] in SEVERITIES
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["runbook_url"] == f"{{{{ $externalLabels.runbooks }}}}/{rule['alert']}.md"
    link = rule["annotations"]["dashboard_url"]
    assert link.startswith("{{ $externalLabels.grafana }}/d/")
    parts = urlsplit(re.sub("{{.*?}}", "x", link))
    assert parts.path.rpartition("/")[2] in DASHBOARDS
    assert set(parse_qs(parts.query)) <= {"var-kind", "var-instance"}
    assert parse_qs(parts.query), "its dashboard's variables are filled"


def test_alerts_lead_to_places_of_the_console_that_are_there() -> None:
    links = {rule["alert"]: rule["annotations"].get("console_url") for rule in rules.alerts()}
    assert {name for name, link in links.items() if link is None} == {"ApiLatency", "Watchdog"}
    paths = set(re.findall(r'path: "(/[a-z-]+)"', (rules.ROOT / "console/static/main.js").read_text()))
    for link in filter(None, links.values()):
        place, _, query = link.removeprefix("{{ $externalLabels.console }}/#").partition("?")
        assert place in paths
        assert set(parse_qs(re.sub("{{.*?}}", "x", query))) <= {"kind", "error_type"}


def test_links_lead_where_one_place_says_and_no_alert_carries_that_along() -> None:
    config = yaml.safe_load((rules.PROMETHEUS / "prometheus.yml").read_text())
    labels = config["global"]["external_labels"]
    assert set(labels) == {"grafana", "console", "runbooks"}
    (drop,) = config["alerting"]["alert_relabel_configs"]
    assert (drop["action"], set(drop["regex"].split("|"))) == ("labeldrop", set(labels))


def test_every_severity_has_a_receiver_and_every_inhibition_names_alerts() -> None:
    config = yaml.safe_load((rules.PROMETHEUS / "alertmanager.yml").read_text())
    routed = {match for route in config["route"]["routes"] for match in route["matchers"]}
    assert routed == {f'severity="{name}"' for name in SEVERITIES - {"ticket"}}
    assert config["route"]["receiver"] == "ticket"
    text = str(config["inhibit_rules"])
    named = {name for names in re.findall(r'alertname=~?"([^"]+)"', text) for name in names.split("|")}
    assert named <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_runbook(name: str) -> None:
    page = (RUNBOOKS / f"{name}.md").read_text()
    sections = re.findall("(?m)^#+ (.*)$", page)
    assert sections == [name, "What it means", "What to look at", "What to do", "When it clears"]
    assert all(re.split("(?m)^#+ .*$", page)[2:])
    assert f"[{name}]({name}.md)" in (RUNBOOKS / "README.md").read_text()


def test_no_runbook_is_left_over() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"} == set(NAMES)


def commands_in_runbooks() -> list[str]:
    """Each `flask --app app ...` that a runbook tells of."""
    pages = "\n".join(path.read_text() for path in RUNBOOKS.glob("*.md"))
    found = re.findall(r"`(?:flask --app app (?:tasks )?|tasks )([a-z][^`]*)`", pages)
    return sorted({re.sub(r"^(?!db|verify|sweep)", "tasks ", words) for words in found})


@pytest.mark.parametrize("words", commands_in_runbooks())
def test_the_runbooks_commands_exist(words: str, tmp_path: Path) -> None:
    command: click.Command = create_app(quick_settings("postgresql://x", "redis://x", tmp_path)).cli
    arguments = words.split()
    while isinstance(command, click.Group):
        command = command.commands[arguments.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in arguments if word.startswith("--")} <= known


@pytest.mark.parametrize("rule", rules.all_rules(), ids=lambda rule: rule.get("alert", rule.get("record")))
def test_rules_ask_only_for_what_is_exported_or_recorded(rule: rules.Rule) -> None:
    known = exported() | {each["record"] for each in rules.all_rules() if "record" in each} | _OF_PROMETHEUS
    asked = {selector.name or "" for selector in rules.selectors(promql.parse(rule["expr"]))}
    assert {_SUFFIX.sub("", name) for name in asked} <= known


def test_the_selectors_of_an_expression_are_all_found() -> None:
    text = "sum by (a) (rate(b[5m])) > 1 and label_replace(-(c), 'd', '', '', '') or max_over_time(e[1h:1m])"
    assert [found.name for found in rules.selectors(promql.parse(text))] == ["b", "c", "e"]


def test_the_objective_stands_in_one_place_and_its_threshold_is_a_bucket() -> None:
    threshold_s = float(rules.recorded("safelight:slo_threshold:seconds").removeprefix("vector(").rstrip(")"))
    assert threshold_s in SECONDS
    assert rules.recorded("safelight:slo_objective:ratio") == "vector(0.99)"
    others = "\n".join(str(rule["expr"]) for rule in rules.all_rules() if "vector(" not in str(rule["expr"]))
    assert "0.99" not in others
    assert 'le="30' not in others


def test_errors_of_the_upload_itself_are_those_that_no_attempt_can_mend() -> None:
    (listed,) = re.findall(
        'error_type=~"(.*?)"', rules.recorded("safelight:dead_letters_of_uploads:growth15m")
    )
    assert set(listed.split("|")) == OF_UPLOADS < set(ERROR_TYPES)
