"""What an operator is told of the system as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from flask import Flask

from app import create_app
from config import Settings
from embedded.ports import any_free_port
from observability.presence import Presence
from tests.http import Client
from tests.waiting import until

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def admin(auth: Auth) -> dict[str, str]:
    """Headers of an operator's key."""
    return auth("operator", "admin")


@pytest.fixture
def presence(app: Flask) -> Iterator[Presence]:
    """The app's process, announced as gunicorn would have it."""
    presence: Presence = app.extensions["safelight.presence"]
    presence.start()
    yield presence
    presence.stop()


def test_what_answers_is_told_with_its_version(client: Client, admin: dict[str, str]) -> None:
    answer = client.get("/v1/system", headers=admin)
    assert answer.status == 200, answer.body
    up = {each["name"]: each for each in answer.json["dependencies"]}
    assert [each["up"] for each in up.values()] == [True, True, True]
    assert up["postgres"]["version"].startswith("PostgreSQL ")
    assert up["redis"]["version"].startswith(("valkey ", "redis "))
    now = datetime.fromisoformat(answer.json["now"])
    for name in ("postgres", "redis"):
        assert (
            now - timedelta(days=1) < datetime.fromisoformat(up[name]["since"]) <= now + timedelta(seconds=2)
        )
    assert (up["storage"]["version"], up["storage"]["since"]) == (None, None)
    assert answer.json["store_free_bytes"] > 0
    assert answer.json["links"] == {"grafana": None, "prometheus": None}


def test_a_live_process_is_told_with_what_it_runs(
    client: Client, admin: dict[str, str], presence: Presence
) -> None:
    until(lambda: bool(client.get("/v1/system", headers=admin).json["processes"]))
    told = client.get("/v1/system", headers=admin).json
    [process] = told["processes"]
    assert (process["role"], process["slots"], process["away"], process["led_at"]) == ("api", 0, [], None)
    assert (process["version"], process["revision"]) == (told["version"], told["revision"])
    assert process["python"].startswith("3.")
    assert datetime.fromisoformat(process["started_at"]) <= datetime.fromisoformat(told["now"])


def test_what_is_away_is_told_with_since_when(settings: Settings, admin: dict[str, str]) -> None:
    away = replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0")
    client = Client(create_app(away))
    first = client.get("/v1/system", headers=admin).json
    again = client.get("/v1/system", headers=admin).json
    [redis] = [each for each in first["dependencies"] if not each["up"]]
    assert (redis["name"], redis["version"], first["processes"]) == ("redis", None, None)
    assert "refused" in redis["error"]
    assert redis["since"] == next(each["since"] for each in again["dependencies"] if not each["up"])


def test_links_lead_where_the_settings_say(settings: Settings, admin: dict[str, str]) -> None:
    linked = replace(settings, grafana_url="https://grafana.example", prometheus_url="http://p.example:9090")
    told = Client(create_app(linked)).get("/v1/system", headers=admin).json
    assert told["links"] == {"grafana": "https://grafana.example", "prometheus": "http://p.example:9090"}
