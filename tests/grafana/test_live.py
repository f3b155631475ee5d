"""Every expression of the dashboards and the rules, asked of a real Prometheus over a running stack."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from grafana.service_level import PROMISED_S
from tests.grafana import load
from tests.grafana.boards import asked, metrics_in
from tests.prometheus import Asked, scraping
from tests.stack import Stack
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
_LOAD_S = 120
# No sample is right for these; for why, see each.
MAY_BE_EMPTY = {
    "Drills (annotation)": "only the drills' own exporter exports it, while a drill runs",
    "Alerts (annotation)": "no alert fires over a stack that is well",
}


def returns_data(prometheus: Asked, expr: str) -> bool:
    """Whether some sample of the answer is a number."""
    return any(not math.isnan(float(each["value"][1])) for each in prometheus.newest(expr))


@pytest.fixture(scope="module")
def prometheus(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A Prometheus over the stack, from before the load."""
    with scraping(tmp_path_factory.mktemp("prometheus"), stack.settings.monitoring_port) as prometheus:
        yield prometheus


def worked_until(stack: Stack, done: Callable[[], bool]) -> None:
    """Put load on the stack, round after round, until something holds or `_LOAD_S` are over."""
    key = stack.key("dashboards")
    until_s = time.monotonic() + _LOAD_S
    for seed in count(1):
        photos = load.good_photos(stack, key, 4, seed=seed) + load.bad_photos(stack, key, seed=seed)
        for photo in photos:
            stack.wait_done(photo, key)
        load.look(stack, photos[0], key)
        if done() or time.monotonic() > until_s:
            return


def test_every_panel_has_data_under_load(stack: Stack, prometheus: Asked) -> None:
    expected = {each for each in asked() if each.place.partition(": ")[2] not in MAY_BE_EMPTY}
    empty = set(expected)

    def all_have_data() -> bool:
        empty.intersection_update(each for each in expected if not returns_data(prometheus, each.expr))
        return not empty

    worked_until(stack, all_have_data)
    assert not {each.place: each.expr for each in empty}


def test_panels_and_rules_read_only_what_the_stack_exports(stack: Stack, prometheus: Asked) -> None:
    rules = prometheus.rules()
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    expressions = {f"rule: {rule['name']}": rule["query"] for rule in rules}
    for each in asked():
        if each.place.partition(": ")[2] not in MAY_BE_EMPTY:
            expressions[each.place] = each.expr
    unknown: dict[str, set[str]] = {}

    def all_are_there() -> bool:
        there = prometheus.names() | {"ALERTS"}
        unknown.clear()
        unknown.update(
            {place: names for place, expr in expressions.items() if (names := metrics_in(expr) - there)}
        )
        return not unknown and recorded <= there

    worked_until(stack, all_are_there)
    assert not unknown
    assert recorded <= prometheus.names()
    assert {rule["health"] for rule in rules} == {"ok"}


def test_the_panels_promise_is_the_rules(prometheus: Asked) -> None:
    until(lambda: bool(prometheus.newest("safelight:slo_threshold:seconds")))
    (sample,) = prometheus.newest("safelight:slo_threshold:seconds")
    assert float(sample["value"][1]) == PROMISED_S


def test_without_prometheus_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssertionError, match="apt-get install prometheus"), scraping(tmp_path, 1):
        pass
