"""Metrics exist from the start, and their labels are closed sets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics import exposition as openmetrics

from observability.logs import logging_with
from observability.metrics import (
    OUTCOMES,
    RECOVERIES,
    PhotoMetrics,
    StoreMetrics,
    TaskMetrics,
    process_registry,
)
from observability.presence import Presence
from tests.http import Client
from tests.pictures import jpeg


@pytest.fixture
def registry() -> CollectorRegistry:
    """An empty one."""
    return CollectorRegistry()


def test_every_series_of_a_task_is_there_before_the_first_one(registry: CollectorRegistry) -> None:
    TaskMetrics(registry, kinds=["preview"], error_types=["worker-lost"])
    for outcome in OUTCOMES:
        labels = {"kind": "preview", "outcome": outcome}
        assert registry.get_sample_value("safelight_tasks_total", labels) == 0
    for reason in RECOVERIES:
        labels = {"kind": "preview", "reason": reason}
        assert registry.get_sample_value("safelight_relay_recovered_total", labels) == 0
    labels = {"kind": "preview", "error_type": "worker-lost"}
    assert registry.get_sample_value("safelight_task_errors_total", labels) == 0
    for name in ("task_duration_seconds", "task_wait_seconds", "task_attempts"):
        assert registry.get_sample_value(f"safelight_{name}_count", {"kind": "preview"}) == 0


def test_attempts_are_counted_for_completed_tasks_alone(registry: CollectorRegistry) -> None:
    metrics = TaskMetrics(registry, kinds=["preview"], error_types=["worker-lost"])
    metrics.ended("preview", "retried", 1, "worker-lost")
    metrics.ended("preview", "completed", 2, None)
    assert registry.get_sample_value("safelight_task_attempts_sum", {"kind": "preview"}) == 2
    labels = {"kind": "preview", "error_type": "worker-lost"}
    assert registry.get_sample_value("safelight_task_errors_total", labels) == 1


def test_a_clock_that_runs_behind_gives_no_negative_wait(registry: CollectorRegistry) -> None:
    metrics = TaskMetrics(registry, kinds=["preview"], error_types=[])
    metrics.begun("preview", -3.0)
    assert registry.get_sample_value("safelight_task_wait_seconds_sum", {"kind": "preview"}) == 0


def test_photos_are_measured(registry: CollectorRegistry) -> None:
    metrics = PhotoMetrics(registry)
    metrics.ready(2.0)
    metrics.uploaded(1000)
    metrics.previewed(500)
    assert registry.get_sample_value("safelight_photo_ready_seconds_sum") == 2
    assert registry.get_sample_value("safelight_upload_bytes_total") == 1000
    assert registry.get_sample_value("safelight_preview_pixels_total") == 500


def test_store_operations_are_there_from_the_start(registry: CollectorRegistry) -> None:
    StoreMetrics(registry, operations=["put"])
    assert registry.get_sample_value("safelight_storage_errors_total", {"operation": "put"}) == 0


def requests(app: Flask) -> dict[tuple[str, str, str], float]:
    """How often each route was answered, by (method, route, status), zeros too."""
    presence: Presence = app.extensions["safelight.presence"]
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in presence.registry.collect()
        for sample in family.samples
        if sample.name == "safelight_http_requests_total"
    }


def test_requests_are_counted_by_their_rule_and_never_by_their_path(
    app: Flask, client: Client, auth: Callable[..., dict[str, str]]
) -> None:
    key = auth("anna")
    photo = client.post("/v1/photos", data=jpeg(), headers=key).json
    client.get(f"/v1/photos/{photo['id']}", headers=key)
    client.get("/v1/photos/00000000-0000-4000-8000-000000000000", headers=key)
    client.get("/some/path?with=a-secret")
    client.ask("BREW", "/v1/photos")
    assert {labels: count for labels, count in requests(app).items() if count} == {
        ("POST", "/v1/photos", "202"): 1,
        ("GET", "/v1/photos/<uuid:photo_id>", "200"): 1,
        ("GET", "/v1/photos/<uuid:photo_id>", "404"): 1,
        ("GET", "unmatched", "404"): 1,
        ("other", "unmatched", "405"): 1,
    }


def test_every_answer_of_a_route_is_there_before_the_first_request(app: Flask) -> None:
    """Else `increase()` would miss the first failure."""
    route = "/v1/photos/<uuid:photo_id>/previews/<string:size>"
    expected = requests(app)
    assert set(expected.values()) == {0}
    for status in (200, 202, 401, 404, 500, 503):
        assert ("GET", route, str(status)) in expected
    assert ("POST", "/v1/photos", "202") in expected
    assert ("DELETE", "/v1/photos/<uuid:photo_id>", "204") in expected
    assert ("GET", "/livez", "200") in expected


def test_an_observation_has_its_trace_as_an_exemplar(registry: CollectorRegistry) -> None:
    metrics = TaskMetrics(registry, kinds=["preview"], error_types=[])
    with logging_with(trace_id="4bf92f3577b34da6a3ce929d0e0e4736"):
        metrics.worked("preview", 0.2)
    metrics.worked("preview", 3.0)
    told = openmetrics.generate_latest(registry).decode()
    (line,) = [line for line in told.splitlines() if " # {" in line]
    assert line.startswith('safelight_task_duration_seconds_bucket{kind="preview",le="0.25"} 1.0 # ')
    assert '{trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.2' in line


def test_a_process_tells_its_memory_its_cpu_time_and_its_build() -> None:
    registry = process_registry(version="1.2.3", revision="abc")
    assert registry.get_sample_value("process_resident_memory_bytes") > 1_000_000  # type: ignore[operator]
    assert registry.get_sample_value("process_cpu_seconds_total") > 0  # type: ignore[operator]
    labels = {"version": "1.2.3", "revision": "abc"}
    assert registry.get_sample_value("safelight_build_info", labels) == 1


def test_no_request_stays_in_flight(app: Flask, client: Client) -> None:
    for path in ("/livez", "/nowhere", "/v1/photos"):
        client.get(path)
    client.post("/v1/photos", data=jpeg())
    presence: Presence = app.extensions["safelight.presence"]
    assert presence.registry.get_sample_value("safelight_http_requests_in_flight") == 0
