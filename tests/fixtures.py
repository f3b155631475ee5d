"""What the rooms' tests share: settings, database, store, app, keys, and the whole service as processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest
from flask import Flask
from prometheus_client import CollectorRegistry

from api.keys import Keys
from app import create_app
from config import Settings
from db.migrate import upgrade
from db.session import Database
from db.tables import metadata
from embedded.ports import any_free_port
from observability.metrics import StoreMetrics
from storage.store import OPERATIONS, Store
from tests import s3, servers
from tests.hand import Hand
from tests.http import Client
from tests.stack import Stack

# An example takes as long as the machine is busy.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

MakeKey = Callable[..., str]
_TABLES = ", ".join(table.name for table in metadata.sorted_tables)


def quick_settings(database_url: str, redis_url: str, store: Path) -> Settings:
    """Settings with a tenth of every interval, and two API processes: none may know what another doesn't."""
    port = any_free_port()
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        storage_url=store.as_uri(),
        port=port,
        monitoring_port=any_free_port(),
        api_processes=2,
        max_upload_bytes=256 * 1024 * 1024,
        lease_s=2.0,
        heartbeat_s=0.5,
        relay_s=0.1,
        scan_s=0.5,
    )


@pytest.fixture(scope="session")
def migrated_url(database_url: str) -> str:
    """The test process' database, with the schema in it."""
    upgrade(database_url)
    return database_url


@pytest.fixture
def settings(migrated_url: str, redis_url: str, tmp_path: Path) -> Settings:
    """Quick settings over this test process' own database and Redis, and a store of the test's own."""
    return quick_settings(migrated_url, redis_url, tmp_path / "store")


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    """The database, with every table empty."""
    database = Database(migrated_url, application_name="tests")
    with database.transaction() as tx:
        tx.execute(f"TRUNCATE {_TABLES}")
    yield database
    database.close()


@pytest.fixture
def store(settings: Settings) -> Store:
    """The app's store; its folder is `stored_files`' too."""
    return Store(settings.storage_url, StoreMetrics(CollectorRegistry(), operations=OPERATIONS))


@pytest.fixture
def stored_files(store: Store, tmp_path: Path) -> Callable[[], list[str]]:
    """Every file in the store's folder, unfinished ones too."""
    folder = tmp_path / "store"
    return lambda: sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A real S3 server: its port, and the folder that it keeps buckets in."""
    folder = tmp_path_factory.mktemp("s3")
    with s3.served(folder) as port:
        yield port, folder


@pytest.fixture
def bucket(s3_server: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[s3.Proxy]:
    """A place in a bucket, behind a proxy that makes faults; the `AWS_*` variables lead to it."""
    with s3.proxied(*s3_server) as proxy:
        for name, value in proxy.environment.items():
            monkeypatch.setenv(name, value)
        yield proxy


@pytest.fixture
def app(settings: Settings, database: Database) -> Iterator[Flask]:
    """The API as gunicorn runs it."""
    app = create_app(settings)
    yield app
    app.extensions["safelight.hub"].stop()


@pytest.fixture
def client(app: Flask) -> Client:
    """A client without a key."""
    return Client(app)


@pytest.fixture
def make_key(database: Database) -> MakeKey:
    """Makes a key: `make_key("anna", "photos:read")`; with no scope named, one with all but `admin`."""
    keys = Keys(database)

    def make(owner: str = "anna", *scopes: str) -> str:
        return keys.create(owner, scopes or ("photos:write", "photos:read", "originals:read"))

    return make


@pytest.fixture
def auth(make_key: MakeKey) -> Callable[..., dict[str, str]]:
    """Headers with a new key: `auth("anna", "photos:read")`."""
    return lambda *args: {"Authorization": f"Bearer {make_key(*args)}"}


@pytest.fixture
def hand(database: Database, store: Store, settings: Settings) -> Hand:
    """Does the app's tasks, when told to."""
    return Hand(database, store, settings.redis_url)


@pytest.fixture
def own_stack(
    server_addresses: servers.Addresses, worker_number: int, tmp_path: Path
) -> Iterator[Callable[..., Stack]]:
    """Starts a service of the test's own, with the settings that it is given, ended with the test."""
    url = servers.own_database(server_addresses.postgres_url, f"own_{uuid4().hex}")
    upgrade(url)
    settings = quick_settings(url, server_addresses.valkey_urls[-1 - worker_number], tmp_path / "store")
    with ExitStack() as running:
        yield lambda **changes: running.enter_context(Stack(replace(settings, **changes), tmp_path))


@pytest.fixture(scope="session")
def stack(
    server_addresses: servers.Addresses, worker_number: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """The whole service as processes, with a database and a Redis of its own; a test brings its own owner."""
    url = servers.own_database(server_addresses.postgres_url, f"stack_{worker_number}")
    upgrade(url)
    redis_url = server_addresses.valkey_urls[-1 - worker_number]
    folder = tmp_path_factory.mktemp("stack")
    with Stack(quick_settings(url, redis_url, folder / "store"), folder) as stack:
        yield stack
