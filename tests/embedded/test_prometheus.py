"""Prometheus of our own: its configuration, and a port that can be had."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import yaml

from embedded.errors import EmbeddedError
from embedded.ports import any_free_port
from embedded.prometheus import Prometheus, usable_port
from tests.observability import rules


def test_its_configuration_is_sound_and_that_of_the_containers(folder: Path) -> None:
    names = {"grafana": "http://localhost:3000", "console": "http://localhost:8000"}
    links = {**names, "runbooks": "docs/runbooks"}
    own = Prometheus(
        folder / "p",
        Path("prometheus"),
        1,
        "api:8001",
        rules.PROMETHEUS / "rules",
        links,
        "alertmanager:9093",
    )
    own.prepare()
    rules.tool("promtool", "check", "config", folder / "p" / "prometheus.yml")
    written = json.loads((folder / "p" / "prometheus.yml").read_text())
    given = yaml.safe_load((rules.PROMETHEUS / "prometheus.yml").read_text())
    assert written.pop("rule_files") == [str(rules.PROMETHEUS / given.pop("rule_files")[0])]
    assert written == given


def test_its_port_is_the_setting_or_the_default() -> None:
    free = any_free_port()
    assert usable_port("", free, taken=()) == free
    assert usable_port(str(free), 1, taken=()) == free


@pytest.mark.parametrize(
    ("wanted", "default", "said"),
    [
        ("soon", 1, "SAFELIGHT_PROMETHEUS_PORT='soon' is not a whole number"),
        ("-1", 1, "not a whole number"),
        ("70000", 1, "between 1 and 65535"),
        ("", 65_536, "between 1 and 65535"),
        ("8001", 1, "the service's own"),
    ],
)
def test_a_port_that_can_not_be_had_is_told(wanted: str, default: int, said: str) -> None:
    with pytest.raises(EmbeddedError, match=said):
        usable_port(wanted, default, taken=(8000, 8001))


def test_a_taken_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(EmbeddedError, match="is taken"):
        usable_port("", taken.getsockname()[1], taken=())
