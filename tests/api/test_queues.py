"""The routes of queues and workers, for operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from app import create_app
from config import Settings
from db.session import Database
from embedded.ports import any_free_port
from observability.presence import Presence
from tests.hand import Hand
from tests.http import Answer, Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def admin(auth: Auth) -> dict[str, str]:
    """Headers of an operator's key, who uploads as well."""
    return auth("operator", "admin")


def queue(client: Client, admin: dict[str, str], name: str) -> dict[str, Any]:
    """One queue of the list."""
    answer = client.get("/v1/queues", headers=admin)
    assert answer.status == 200, answer.body
    [found] = [queue for queue in answer.json["queues"] if queue["name"] == name]
    return dict(found)


def patch(client: Client, admin: dict[str, str], name: str, **changes: Any) -> Answer:
    """Change a queue."""
    return client.ask("PATCH", f"/v1/queues/{name}", json=changes, headers=admin)


def test_an_idle_queue_is_there_with_zeros(client: Client, admin: dict[str, str]) -> None:
    assert queue(client, admin, "exif") == {
        "name": "exif",
        "paused": False,
        "rate": None,
        "depth": {"pending": 0, "queued": 0, "processing": 0, "failed": 0},
        "oldest_age_s": 0.0,
        "completed_per_s": 0.0,
        "run_p95_s": None,
        "away_for": 0,
    }


def test_depth_age_and_speed_are_told(
    client: Client, admin: dict[str, str], hand: Hand, database: Database
) -> None:
    for seed in range(3):
        photo_id = client.post("/v1/photos", data=jpeg(8, 8, seed=seed), headers=admin).json["id"]
    hand.exif(photo_id)
    with database.transaction() as tx:
        tx.execute("UPDATE tasks SET run_at = run_at - interval '230 s'")
    told = queue(client, admin, "exif")
    assert told["depth"] == {"pending": 2, "queued": 0, "processing": 0, "failed": 0}
    assert queue(client, admin, "preview")["depth"] == {
        "pending": 0,
        "queued": 3,
        "processing": 0,
        "failed": 0,
    }
    assert 100 <= told["oldest_age_s"] < 160
    assert told["completed_per_s"] == pytest.approx(1 / 60)
    assert 0 < told["run_p95_s"] < 30
    assert queue(client, admin, "preview")["completed_per_s"] == 0


def test_what_was_finished_lately_is_told_step_by_step(
    client: Client, admin: dict[str, str], hand: Hand, database: Database
) -> None:
    ids = [
        client.post("/v1/photos", data=jpeg(8, 8, seed=seed), headers=admin).json["id"] for seed in range(3)
    ]
    hand.exif(ids[0])
    hand.exif(ids[1])
    hand.fail(ids[2], "exif", error_type="corrupt-image", detail="it broke")
    with database.transaction() as tx:
        tx.execute(
            "UPDATE tasks SET finished_at = finished_at - interval '1 min',"
            " started_at = finished_at - interval '61 s' WHERE finished_at IS NOT NULL"
        )
    answer = client.get("/v1/queue-history", headers=admin)
    assert answer.status == 200, answer.body
    assert answer.json["step_s"] == 15
    queues = {queue["name"]: queue for queue in answer.json["queues"]}
    exif = queues["exif"]
    assert [len(exif[of]) for of in ("completed", "failed", "run_p95_s")] == [60, 60, 60]
    assert (sum(exif["completed"]), sum(exif["failed"])) == (2, 1)
    assert sum(exif["completed"][-6:]) == 2
    assert [run for run in exif["run_p95_s"] if run is not None] == [pytest.approx(1)] * len(
        [tasks for tasks in exif["completed"] if tasks]
    )
    assert sum(queues["preview"]["completed"]) == 0


def test_a_queue_is_paused_and_gets_a_rate(client: Client, admin: dict[str, str]) -> None:
    answer = patch(client, admin, "preview", paused=True, rate=0.5)
    assert (answer.status, answer.json["paused"], answer.json["rate"]) == (200, True, 0.5)
    assert patch(client, admin, "preview", paused=False).json["rate"] == 0.5
    assert patch(client, admin, "preview", rate=None).json["rate"] is None
    assert queue(client, admin, "exif")["paused"] is False


def test_a_paused_queues_new_task_waits(client: Client, admin: dict[str, str]) -> None:
    patch(client, admin, "preview", paused=True)
    photo = client.post("/v1/photos", data=jpeg(), headers=admin).json
    states = {task["kind"]: task["state"] for task in photo["tasks"]}
    assert states["preview"] == "pending"


@pytest.mark.parametrize(
    "changes",
    [{}, {"rate": 0}, {"rate": -1}, {"rate": "fast"}, {"rate": 1e9}, {"paused": None}, {"speed": 1}],
)
def test_a_change_that_makes_no_sense_is_told(
    client: Client, admin: dict[str, str], changes: dict[str, Any]
) -> None:
    assert patch(client, admin, "preview", **changes).status == 422


def test_a_rate_that_is_no_number_is_told(client: Client, admin: dict[str, str]) -> None:
    for text in ("NaN", "Infinity", "1e999"):
        answer = client.ask(
            "PATCH",
            "/v1/queues/preview",
            data=f'{{"rate": {text}}}',
            headers={**admin, "Content-Type": "application/json"},
        )
        assert answer.status == 422, text


def test_a_queue_that_is_not_there_is_told(client: Client, admin: dict[str, str]) -> None:
    answer = patch(client, admin, "nope", paused=True)
    assert (answer.status, answer.json["code"]) == (404, "queue-not-found")


def test_workers_are_told_with_what_they_have_in_hand(
    client: Client, admin: dict[str, str], hand: Hand, app: Flask
) -> None:
    photo_id = client.post("/v1/photos", data=jpeg(), headers=admin).json["id"]
    presence: Presence = app.extensions["safelight.presence"]
    worker = Presence(presence._client, presence.registry, role="worker", slots=3, interval_s=60)
    worker.start()
    try:
        worker.announce()
        task_id = hand.task(photo_id, "exif")
        with hand.work.claimed("exif", task_id) as claim:
            workers = client.get("/v1/queues", headers=admin).json["workers"]
            claim.complete(lambda tx: None)
    finally:
        worker.stop()
    alive, dead = sorted(workers, key=lambda worker: not worker["alive"])
    assert (alive["alive"], alive["slots"], alive["tasks"]) == (True, 3, [])
    assert (dead["name"], dead["alive"], dead["slots"]) == ("by-hand", False, None)
    [held] = dead["tasks"]
    assert (held["id"], held["kind"], held["photo_id"]) == (task_id, "exif", photo_id)
    assert 0 <= held["running_s"] < 60


def test_without_redis_queues_are_told_and_workers_by_their_tasks(
    settings: Settings, admin: dict[str, str]
) -> None:
    away = Client(create_app(replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0")))
    answer = away.get("/v1/queues", headers=admin)
    assert (answer.status, answer.json["workers"]) == (200, [])
