"""The monitoring port's app, and that nobody gets at it through the public port."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from app import create_app
from config import Settings
from db.session import Database
from embedded.ports import any_free_port
from observability.presence import Presence
from tests.http import Answer, Client


def ask(app: Flask, path: str, port: int, **headers: str) -> Answer:
    """Ask as if the request had come in on a port."""
    return Client(app).get(path, environ_overrides={"SERVER_PORT": str(port)}, headers=headers)


def samples(answer: Answer) -> dict[str, float]:
    """What an exposition says, by `name{label values}`, in the order of the labels' names."""
    found = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            found[f"{sample.name}{{{','.join(sample.labels.values())}}}"] = sample.value
    return found


def test_metrics_stand_on_the_monitoring_port_alone(app: Flask, settings: Settings) -> None:
    inside = ask(app, "/metrics", settings.monitoring_port)
    assert inside.status == 200
    assert inside.headers["Content-Type"].startswith("text/plain; version=")
    for path in ("/metrics", "/internal/targets"):
        assert ask(app, path, settings.port).status == 404
        forged = {
            "Host": f"localhost:{settings.monitoring_port}",
            "X-Forwarded-Port": str(settings.monitoring_port),
        }
        assert ask(app, path, settings.port, **forged).status == 404


@pytest.mark.parametrize("path", ["/v1/photos", "/livez", "/openapi.json"])
def test_the_monitoring_port_answers_nothing_else(app: Flask, settings: Settings, path: str) -> None:
    answer = ask(app, path, settings.monitoring_port)
    assert (answer.status, answer.body) == (404, b"404 Not Found\n")


def test_all_is_there_from_the_start_with_zeros(app: Flask, settings: Settings) -> None:
    found = samples(ask(app, "/metrics", settings.monitoring_port))
    for kind in ("preview", "exif"):
        for state in ("pending", "queued", "processing", "failed"):
            assert found[f"safelight_queue_depth{{{kind},{state}}}"] == 0
        assert found[f"safelight_queue_oldest_age_seconds{{{kind}}}"] == 0
        assert found[f"safelight_queue_paused{{{kind}}}"] == 0
        assert found[f"safelight_dead_letters{{corrupt-image,{kind}}}"] == 0
    for dependency in ("postgres", "redis", "storage"):
        assert found[f"safelight_dependency_up{{{dependency}}}"] == 1
        assert found[f"safelight_collector_success{{{dependency}}}"] == 1
    assert found["safelight_workers_alive{}"] == 0
    assert found["safelight_store_free_bytes{}"] > 0


def test_targets_are_the_live_processes(app: Flask, settings: Settings) -> None:
    assert ask(app, "/internal/targets", settings.monitoring_port).json == []
    presence: Presence = app.extensions["safelight.presence"]
    presence.start()
    try:
        presence.announce()
        (target,) = ask(app, "/internal/targets", settings.monitoring_port).json
    finally:
        presence.stop()
    assert target["labels"]["role"] == "api"
    assert target["targets"][0].startswith("127.0.0.1:")
    assert ask(app, "/internal/targets", settings.monitoring_port).json == []


def test_without_redis_the_rest_is_still_exported(settings: Settings, database: Database) -> None:
    away = replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0")
    found = samples(ask(create_app(away), "/metrics", settings.monitoring_port))
    assert found["safelight_dependency_up{redis}"] == 0
    assert found["safelight_collector_success{redis}"] == 0
    assert found["safelight_queue_depth{preview,queued}"] == 0
    assert not any(name.startswith("safelight_workers_alive") for name in found)


def test_without_redis_targets_are_503_and_no_empty_list(settings: Settings) -> None:
    away = replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0")
    answer = ask(create_app(away), "/internal/targets", settings.monitoring_port)
    assert (answer.status, answer.headers["Content-Type"]) == (503, "text/plain")


def test_without_postgres_the_rest_is_still_exported(settings: Settings) -> None:
    away = replace(settings, database_url=f"postgresql://nobody@127.0.0.1:{any_free_port()}/none")
    found = samples(ask(create_app(away), "/metrics", settings.monitoring_port))
    assert found["safelight_dependency_up{postgres}"] == 0
    assert found["safelight_collector_success{postgres}"] == 0
    assert found["safelight_workers_alive{}"] == 0
    assert not any(name.startswith("safelight_queue_depth") for name in found)


def test_a_process_of_a_newer_version_is_understood(app: Flask, settings: Settings) -> None:
    entry = '{"name": "n", "role": "worker", "target": "h:1", "slots": 2, "later": "more"}'
    with redis.Redis.from_url(settings.redis_url) as client:
        client.set("safelight:process:n", entry)
    assert samples(ask(app, "/metrics", settings.monitoring_port))["safelight_worker_slots{}"] == 2
