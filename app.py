"""The web root: settings -> create_app(), and the `flask` commands."""

from __future__ import annotations

from collections.abc import Callable

import redis
from flask import Flask
from prometheus_client import CollectorRegistry
from werkzeug.middleware.proxy_fix import ProxyFix

import api.monitoring
import api.service
import cli.backup
import cli.importing
import cli.keys
import cli.sign_in
import cli.tasks
import cli.trace
import cli.upkeep
from api.hosts import hosts_of
from api.hub import Hub
from api.keys import Keys
from api.limits import Limits
from api.places import Places
from api.rooms import Rooms, System
from api.sessions import Sessions
from config import Settings
from db.about import about_database
from db.session import Database
from observability import logs
from observability.dependencies import Dependencies
from observability.metrics import PhotoMetrics, StoreMetrics, StreamMetrics, process_registry
from observability.pipeline import SCRAPE_LIMIT_S, PipelineCollector
from observability.presence import Build, Presence, processes, targets
from photos.analysis import Analyses
from photos.backup import Backup
from photos.deletion import Deletion
from photos.feed import Feed
from photos.intake import Intake
from photos.kinds import ERROR_TYPES, KINDS, REQUIRED
from photos.reprocessing import Reprocessing
from photos.sharing import Sharing
from photos.states import PhotoStates
from photos.story import Stories
from photos.tasks import PhotoTasks
from photos.upkeep import Upkeep
from photos.views import Views
from storage.store import OPERATIONS, Store
from tasks.backlog import Backlog
from tasks.broker import about_redis, connect, make_broker
from tasks.courier import Courier
from tasks.dead_letters import DeadLetters
from tasks.figures import DEPTH_STATES, Figures, figures
from tasks.history import History
from tasks.overview import Overview
from tasks.queues import Queues
from tasks.submit import Submitter
from tasks.wire import Wire


def create_app(settings: Settings | None = None) -> Flask:
    """The API over its rooms. It connects to nothing before the first request.

    Raises:
        SystemExit: a setting is missing or wrong; it says which.
    """
    if settings is None:
        settings = Settings.for_root()
        logs.configure(settings.log_format)
    registry = process_registry(version=settings.version, revision=settings.revision)
    database = Database(settings.database_url, application_name="safelight-api", prepares=settings.prepares)
    client = connect(settings.redis_url)
    store = Store(
        settings.storage_url,
        StoreMetrics(registry, operations=OPERATIONS),
        reached_by=settings.store_reached_by,
    )
    submitter = Submitter(Courier(make_broker(client)), KINDS, window=settings.window)
    photo_metrics = PhotoMetrics(registry)
    intake = Intake(database, store, submitter, photo_metrics, max_bytes=settings.max_upload_bytes)
    keys, sessions = Keys(database), Sessions(database)
    photo_states = PhotoStates(photo_metrics)
    dead_letters, queues = DeadLetters(database, photo_states), Queues(database, KINDS)
    rooms = Rooms(
        keys,
        Limits(client, None if settings.rate_limit == "off" else settings.rate_limit),
        sessions,
        intake,
        Views(database, store),
        Deletion(database, store),
        Dependencies(
            _checks(database, client, store),
            {"postgres": lambda: about_database(database), "redis": lambda: about_redis(client)},
        ),
        Backlog(database, [kind.name for kind in REQUIRED], limit=settings.backlog_limit),
        settings.max_upload_bytes,
        settings.max_batch_bytes,
        reprocessing=Reprocessing(database, submitter, photo_states),
        analyses=Analyses(database, submitter, configured=bool(settings.analysis_url)),
        sharing=Sharing(settings.signing_key, settings.shared_previews_url),
        tasks=PhotoTasks(database),
        dead_letters=dead_letters,
        queues=queues,
        overview=Overview(database, client, KINDS),
        history=History(database, KINDS),
        system=System(
            settings.version,
            settings.revision,
            store.free_bytes,
            settings.grafana_url,
            settings.prometheus_url,
        ),
        feed=(feed := Feed(database)),
        hub=(
            hub := Hub(
                feed,
                Wire(client, "task:*"),
                lambda names: keys.live(names) | sessions.live(names),
                StreamMetrics(registry).open,
            )
        ),
        places=Places(settings.api_waiting),
        retention_s=settings.retention_s,
        redirects_previews=settings.preview_redirect != "off",
    )
    app = api.service.build(rooms, registry, hosts_of(settings.hosts, settings.host))
    if proxies := settings.trusted_proxies:
        # Inside of `ByPort`, which goes by the port that was really asked.
        app.wsgi_app = ProxyFix(app.wsgi_app, proxies, proxies, proxies)  # type: ignore[method-assign]
    monitoring = api.monitoring.build(_pipeline(settings, client, store), lambda: targets(client))
    app.wsgi_app = api.monitoring.ByPort(  # type: ignore[method-assign]
        app.wsgi_app, monitoring.wsgi_app, settings.monitoring_port
    )
    app.extensions["safelight.presence"] = Presence(
        client,
        registry,
        role="api",
        host=settings.monitoring_host,
        interval_s=settings.heartbeat_s,
        build=Build(settings.version, settings.revision),
    )
    app.extensions["safelight.hub"] = hub
    app.extensions["safelight.drain_s"] = settings.drain_s
    upkeep = Upkeep(database, store, submitter, photo_states)
    for command in (
        cli.keys.commands(keys),
        cli.sign_in.command(sessions, _address(settings)),
        cli.tasks.commands(database, dead_letters, queues, kinds=tuple(KINDS), error_types=ERROR_TYPES),
        cli.upkeep.database_commands(settings.database_url),
        *cli.upkeep.commands(upkeep),
        *cli.backup.commands(Backup(database, settings.database_url, store)),
        cli.trace.command(Stories(database)),
        cli.importing.command,
    ):
        app.cli.add_command(command)
    return app


def _address(settings: Settings) -> str:
    """Where a browser on this machine finds the API."""
    host = "localhost" if settings.host == "0.0.0.0" else settings.host  # noqa: S104 - as a name
    return f"http://{host}:{settings.port}"


def _checks(database: Database, client: redis.Redis, store: Store) -> dict[str, Callable[[], None]]:
    def ping() -> None:
        client.ping()

    return {"postgres": database.check, "redis": ping, "storage": store.check}


def _pipeline(settings: Settings, client: redis.Redis, store: Store) -> CollectorRegistry:
    # Connections of its own: a busy pool isn't a database that is away.
    database = Database(
        settings.database_url,
        pool_size=2,
        application_name="safelight-metrics",
        statement_timeout_s=SCRAPE_LIMIT_S,
    )

    def queues() -> Figures:
        with database.transaction() as tx:
            return figures(tx)

    registry = CollectorRegistry()
    registry.register(
        PipelineCollector(
            queues,
            lambda: [found.slots for found in processes(client) if found.role == "worker"],
            _checks(database, client, store),
            store.free_bytes,
            kinds=KINDS,
            depth_states=DEPTH_STATES,
            error_types=ERROR_TYPES,
        )
    )
    return registry
