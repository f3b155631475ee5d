"""`/livez` and `/readyz`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app import create_app
from config import Settings
from db.session import Database
from embedded.ports import any_free_port
from tests.http import Client
from tests.pictures import jpeg


def lacking(settings: Settings, dependency: str) -> Settings:
    """Settings under which one dependency can't be reached."""
    port = any_free_port()
    return {
        "postgres": replace(settings, database_url=f"postgresql://nobody@127.0.0.1:{port}/none"),
        "redis": replace(settings, redis_url=f"redis://127.0.0.1:{port}/0"),
    }[dependency]


def test_with_all_it_needs_the_api_is_alive_and_ready(client: Client) -> None:
    assert client.get("/livez").json == {"status": "alive"}
    answer = client.get("/readyz")
    assert answer.status == 200
    assert answer.json == {
        "status": "ready",
        "dependencies": {"postgres": True, "redis": True, "storage": True},
    }


def test_without_postgres_it_is_alive_and_not_ready(settings: Settings) -> None:
    client = Client(create_app(lacking(settings, "postgres")))
    assert client.get("/livez").status == 200
    answer = client.get("/readyz")
    assert (answer.status, answer.json["status"]) == (503, "not ready")
    assert answer.json["dependencies"] == {"postgres": False, "redis": True, "storage": True}


def test_without_its_store_it_is_not_ready(client: Client, settings: Settings) -> None:
    folder = settings.storage_url.removeprefix("file://")
    Path(folder).rmdir()
    assert client.get("/readyz").json["dependencies"]["storage"] is False
    assert client.get("/readyz").status == 503


def test_without_redis_it_still_takes_uploads(
    settings: Settings, database: Database, make_key: Callable[..., str]
) -> None:
    client = Client(create_app(lacking(settings, "redis")))
    ready = client.get("/readyz")
    assert (ready.status, ready.json["dependencies"]["redis"]) == (200, False)
    answer = client.post("/v1/photos", data=jpeg(), headers={"Authorization": f"Bearer {make_key()}"})
    assert answer.status == 202
    assert {task["state"] for task in answer.json["tasks"]} <= {"pending", "queued"}


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_answer_head_too(client: Client, path: str) -> None:
    assert client.ask("HEAD", path).status == 200
