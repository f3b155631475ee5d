"""The adapter, and what prepares for it."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
import redis

from api.keys import Keys
from bench import yardstick
from config import Settings
from db.session import Database
from tests import servers


@pytest.fixture
def database_url(server_addresses: servers.Addresses, worker_number: int) -> str:
    return servers.own_database(server_addresses.postgres_url, f"yardstick_{worker_number}")


def test_preparing_empties_everything_and_makes_the_key(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    store, client = tmp_path / "store", redis.Redis.from_url(redis_url)
    for _ in range(2):  # on an empty database, and on one that was used
        store.mkdir(exist_ok=True)
        (store / "left").touch()
        client.set("left", "1")
        yardstick.prepare(database_url, redis_url, store)
        assert not list(store.iterdir())
        assert not client.dbsize()
        with closing(Database(database_url, pool_size=1)) as database:
            found = Keys(database).authenticate(yardstick.key())
            assert found is not None
            assert found.scopes == ("photos:read", "photos:write")


def test_the_adapter_has_settings_that_safelight_starts_with() -> None:
    adapter = json.loads(yardstick.ADAPTER.read_text())
    environment = {
        name: re.sub(r"\$[A-Z]+_PORT", "5432", text).replace("$BENCH_HOME", "/tmp/bench")
        for name, text in adapter["env"].items()
    }
    settings = Settings.from_environment(environment)
    assert adapter["base"] == f"http://127.0.0.1:{settings.port}"
    prepared = adapter["prepare"][0]
    assert all(
        text in prepared for text in (adapter["env"]["SAFELIGHT_DATABASE_URL"], "$BENCH_HOME/data/safelight")
    )
