"""Without prepared statements, as behind a pooler that shares connections, all goes the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from db.migrate import upgrade
from tests import servers
from tests.fixtures import quick_settings
from tests.pictures import jpeg
from tests.stack import Stack


@pytest.fixture
def stack(server_addresses: servers.Addresses, worker_number: int, tmp_path: Path) -> Iterator[Stack]:
    """A service of this test's own."""
    url = servers.own_database(server_addresses.postgres_url, f"unprepared_{uuid4().hex}")
    upgrade(url)
    redis_url = server_addresses.valkey_urls[-1 - worker_number]
    settings = quick_settings(url, redis_url, tmp_path / "store")
    with Stack(replace(settings, prepared_statements="off"), tmp_path) as stack:
        yield stack


def test_a_photo_becomes_ready_another_fails_and_one_is_there_already(stack: Stack) -> None:
    key = stack.key("anna")
    photo = stack.wait_ready(stack.upload(jpeg(600, 400), key), key)
    assert [made["size"] for made in photo["previews"]] == ["small", "medium", "large"]
    assert photo["exif"]["make"]
    again = stack.ask("POST", "/v1/photos", body=jpeg(600, 400), headers=key)
    assert (again.status, again.json["id"]) == (200, photo["id"])
    broken = stack.wait_done(stack.upload(jpeg(600, 400)[:300], key), key)
    assert broken["state"] == "failed"
    executed = (
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'EXECUTE%'"
    )
    assert stack.query(executed) == []
