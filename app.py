"""The web root: settings -> create_app(), and the `flask` commands."""

from __future__ import annotations

from collections.abc import Callable

import click
import redis
from flask import Flask
from flask.cli import AppGroup
from prometheus_client import CollectorRegistry

import api.monitoring
import api.service
from api.keys import SCOPES, Keys
from api.rooms import Rooms
from config import Settings
from db.migrate import upgrade
from db.session import Database
from observability import logs
from observability.metrics import PhotoMetrics, StoreMetrics, build_info
from observability.pipeline import PipelineCollector
from observability.presence import Presence, processes, targets
from photos.intake import Intake
from photos.kinds import ERROR_TYPES, KINDS
from photos.views import Views
from storage.store import OPERATIONS, Store
from tasks.courier import Courier, connect, make_broker
from tasks.figures import DEPTH_STATES, Figures, figures
from tasks.submit import Submitter


def create_app(settings: Settings | None = None) -> Flask:
    """The API over its rooms. It connects to nothing before the first request.

    Raises:
        ConfigError: a setting is missing or wrong.
    """
    if settings is None:
        settings = Settings.from_environment()
        logs.configure(settings.log_format)
    registry = CollectorRegistry()
    build_info(registry, version=settings.version, revision=settings.revision)
    database = Database(settings.database_url, application_name="safelight-api")
    client = connect(settings.redis_url)
    store = Store(settings.storage_url, StoreMetrics(registry, operations=OPERATIONS))
    submitter = Submitter(Courier(make_broker(client)), KINDS, window=settings.window)
    intake = Intake(database, store, submitter, PhotoMetrics(registry), max_bytes=settings.max_upload_bytes)
    checks: dict[str, Callable[[], None]] = {
        "postgres": database.check,
        "redis": lambda: _ping(client),
        "storage": store.check,
    }
    keys = Keys(database)
    rooms = Rooms(keys, intake, Views(database, store), checks, settings.max_upload_bytes)
    app = api.service.build(rooms, registry)
    monitoring = api.monitoring.build(_pipeline(database, client, store, checks), lambda: targets(client))
    app.wsgi_app = api.monitoring.ByPort(  # type: ignore[method-assign]
        app.wsgi_app, monitoring.wsgi_app, settings.monitoring_port
    )
    app.extensions["safelight.presence"] = Presence(
        client, registry, role="api", interval_s=settings.heartbeat_s
    )
    app.cli.add_command(_database_commands(settings))
    app.cli.add_command(_key_commands(keys))
    return app


def _ping(client: redis.Redis) -> None:
    client.ping()


def _pipeline(
    database: Database, client: redis.Redis, store: Store, checks: dict[str, Callable[[], None]]
) -> CollectorRegistry:
    def queues() -> Figures:
        with database.transaction() as tx:
            return figures(tx)

    registry = CollectorRegistry()
    registry.register(
        PipelineCollector(
            queues,
            lambda: [found.slots for found in processes(client) if found.role == "worker"],
            checks,
            store.free_bytes,
            kinds=KINDS,
            depth_states=DEPTH_STATES,
            error_types=ERROR_TYPES,
        )
    )
    return registry


def _database_commands(settings: Settings) -> AppGroup:
    group = AppGroup("db", help="The database's schema.")

    @group.command("upgrade")
    def upgrade_schema() -> None:
        """Run the migrations that are missing."""
        upgrade(settings.database_url)

    return group


def _key_commands(keys: Keys) -> AppGroup:
    group = AppGroup("keys", help="API keys.")

    @group.command("create")
    @click.option("--owner", required=True, help="Whose photos the key is for.")
    @click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
    def create(owner: str, scopes: tuple[str, ...]) -> None:
        """Make a key and print it, this once."""
        try:
            click.echo(keys.create(owner, scopes))
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    @group.command("list")
    def list_keys() -> None:
        """Print id, owner, scopes and state of every key."""
        for key in keys.list():
            state = "revoked" if key.revoked_at else "live"
            click.echo(f"{key.id}  {key.owner}  {','.join(key.scopes)}  {state}")

    @group.command("revoke")
    @click.argument("identity")
    def revoke(identity: str) -> None:
        """End a key at once."""
        if not keys.revoke(identity):
            raise click.ClickException(f"there is no live key {identity}")

    return group
