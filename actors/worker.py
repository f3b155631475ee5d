"""The worker's wiring: settings -> rooms -> broker with the actors, and what runs beside them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import dramatiq

from actors.beside import Beside
from actors.retry import RetryTasks
from actors.rooms import Rooms
from config import Settings
from db.session import Database
from imaging.sandbox import Sandbox
from observability.children import ChildrenCollector
from observability.metrics import PhotoMetrics, RemoteMetrics, StoreMetrics, TaskMetrics, process_registry
from observability.presence import Build, Presence, process_name
from photos.analysis import Analyses
from photos.asking import Asking
from photos.kinds import ANALYSIS, ERROR_TYPES, KINDS
from photos.results import Results
from photos.sharing import Sharing
from photos.states import PhotoStates
from photos.upkeep import Upkeep
from remote.breaker import Breaker
from storage.store import OPERATIONS, Store
from tasks.broker import connect, make_broker
from tasks.courier import Courier
from tasks.ending import Endings
from tasks.relay import Relay
from tasks.submit import Submitter
from tasks.work import Work

if TYPE_CHECKING:
    from remote.service import Service


def declare_all(settings: Settings) -> dramatiq.Broker:
    """Build the rooms, declare every actor, and make the broker the one that `dramatiq` finds."""
    registry = process_registry(version=settings.version, revision=settings.revision)
    registry.register(ChildrenCollector())
    task_metrics = TaskMetrics(registry, kinds=KINDS, error_types=ERROR_TYPES)
    photo_metrics = PhotoMetrics(registry)
    database = Database(
        settings.database_url,
        pool_size=settings.worker_slots + 3,
        application_name="safelight-worker",
        prepares=settings.prepares,
    )
    client = connect(settings.redis_url)
    broker = make_broker(client)
    courier = Courier(broker)
    submitter = Submitter(courier, KINDS, window=settings.window)
    photo_states = PhotoStates(photo_metrics)
    endings = Endings(database, courier, submitter, photo_states, task_metrics)
    work = Work(database, endings, KINDS, task_metrics, worker=process_name(), lease_s=settings.lease_s)
    relay = Relay(
        database,
        courier,
        endings,
        KINDS.values(),
        task_metrics,
        window=settings.window,
        lease_s=settings.lease_s,
        scan_s=settings.scan_s,
        retention_s=settings.retention_s,
    )
    store = Store(settings.storage_url, StoreMetrics(registry, operations=OPERATIONS))
    sandbox = Sandbox(settings.decoders, settings.decoder_memory_bytes)
    breaker = Breaker(open_s=settings.analysis_breaker_s, told=RemoteMetrics(registry).breaker)
    analyses = Analyses(database, submitter, configured=bool(settings.analysis_url))
    rooms = Rooms(
        work,
        Results(database, store, photo_metrics),
        sandbox,
        settings.max_pixels,
        analyses,
        Asking(
            database,
            store,
            analyses,
            _service(settings, breaker),
            send=settings.analysis_send,
            sharing=Sharing(settings.signing_key, settings.shared_previews_url),
            polls=settings.analysis_polls,
            deadline_s=settings.analysis_deadline_s,
        ),
    )

    presence = Presence(
        client,
        registry,
        role="worker",
        slots=settings.worker_slots,
        host=settings.monitoring_host,
        interval_s=settings.heartbeat_s,
        build=Build(settings.version, settings.revision),
        led_at=lambda: relay.led_at,
        away=lambda: (ANALYSIS.name,) if breaker.is_open else (),
    )
    broker.add_middleware(RetryTasks(work))
    broker.add_middleware(
        Beside(
            work,
            relay,
            presence,
            sandbox,
            heartbeat_s=settings.heartbeat_s,
            relay_s=settings.relay_s,
            log_format=settings.log_format,
            sweep=Upkeep(database, store, submitter, photo_states).sweep,
        )
    )
    for kind in KINDS:
        import_module(f"actors.{kind}").declare(broker, rooms)
    dramatiq.set_broker(broker)
    return broker


def _service(settings: Settings, breaker: Breaker) -> Service | None:
    if not settings.analysis_url:
        return None
    from remote.service import Service  # and requests, 4 MB that few workers need

    return Service(
        settings.analysis_url,
        breaker,
        key=settings.analysis_key,
        connections=settings.worker_slots,
        timeout_s=settings.analysis_timeout_s,
    )
