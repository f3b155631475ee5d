"""The task layer with a kind of task that does nothing, and the worker that `bench.tasks` starts.

The `dramatiq` command imports it with BENCH_MODE set; then it declares its actors, as `actors` does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from uuid import UUID, uuid4

import dramatiq
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from sqlalchemy import Connection, event

from db import prepared
from db.prepared import Rows
from db.session import Database
from db.transaction import Transaction
from observability.children import ChildrenCollector
from observability.metrics import TaskMetrics, process_registry
from photos.kinds import ERROR_TYPES
from tasks.broker import Broker, connect, make_broker
from tasks.courier import Courier
from tasks.ending import Endings
from tasks.kinds import Kind
from tasks.relay import Relay
from tasks.submit import Submitter
from tasks.work import Work

NOOP = Kind("noop", time_limit_s=600.0)
KINDS = {NOOP.name: NOOP}
BARE = "bare"
LEASE_S = 20.0


class NoSubjects:
    """Tasks about nothing: no row to lock, no state to settle."""

    def lock(self, tx: Transaction, *subjects: UUID) -> None: ...

    def settle(self, tx: Transaction, subject: UUID) -> None: ...


class Layer:
    """`tasks/`, wired as the worker has it, with the defaults."""

    def __init__(self, database_url: str, redis_url: str, name: str) -> None:
        self.database = Database(database_url, pool_size=12)
        self.broker: Broker = make_broker(connect(redis_url))
        self.registry = process_registry(version="bench", revision="bench")
        self.registry.register(ChildrenCollector())
        metrics = self.metrics = TaskMetrics(self.registry, kinds=KINDS, error_types=ERROR_TYPES)
        courier = Courier(self.broker)
        self.submitter = Submitter(courier, KINDS, window=2_000)
        endings = Endings(self.database, courier, self.submitter, NoSubjects(), metrics)
        self.work = Work(self.database, endings, KINDS, metrics, worker=name, lease_s=LEASE_S)
        self.relay = Relay(
            self.database,
            courier,
            endings,
            KINDS.values(),
            metrics,
            window=2_000,
            lease_s=LEASE_S,
            scan_s=5.0,
            retention_s=7 * 86_400.0,
        )

    def send_bare(self, count: int) -> None:
        """Messages for an actor without any task behind it."""
        ids = [str(uuid4()) for _ in range(count)]
        self.broker.enqueue_many(
            [Message(BARE, BARE, (i,), {}, {"redis_message_id": i}, message_id=i) for i in ids]
        )

    def count_statements(self, seen: list[str]) -> None:
        """Note what this layer's database sends from now on: a round trip each."""
        run = prepared.run

        def note(connection: Connection, statements: Sequence[prepared.Statement]) -> Rows:
            seen.append("; ".join(sql for sql, _ in statements))
            return run(connection, statements)

        prepared.run = note
        event.listen(self.database._engine, "before_cursor_execute", lambda *args: seen.append(args[2]))


def layer(database_url: str, redis_url: str, name: str = "bench") -> Layer:
    """The layer over the given servers; it connects to nothing yet."""
    return Layer(database_url, redis_url, name)


def _declare(mode: str) -> None:
    urls = (os.environ["BENCH_DATABASE"], os.environ["BENCH_REDIS"])
    # `actors` reads the settings when it is imported; its middleware is what is measured here
    os.environ.update(
        SAFELIGHT_DATABASE_URL=urls[0], SAFELIGHT_REDIS_URL=urls[1], SAFELIGHT_STORAGE_URL="file:///tmp"
    )
    from actors.beside import Beside
    from actors.retry import RetryTasks
    from imaging.sandbox import Sandbox
    from observability.presence import Presence

    mine = layer(*urls, name=f"bench:{os.getpid()}")

    def noop(task_id: str) -> None:
        with mine.work.claimed(NOOP.name, task_id) as claim:
            if mode == "sleep":
                time.sleep(300)
            claim.complete(lambda tx: None)

    def bare(task_id: str) -> None:
        pass

    if mode == BARE:
        broker: dramatiq.Broker = RedisBroker(client=connect(urls[1]), middleware=[])
        dramatiq.actor(broker=broker, actor_name=BARE, queue_name=BARE)(bare)
    else:
        broker = mine.broker
        presence = Presence(mine.broker.client, mine.registry, role="worker", interval_s=5.0)
        mine.broker.add_middleware(RetryTasks(mine.work))
        mine.broker.add_middleware(
            Beside(
                mine.work,
                mine.relay,
                presence,
                Sandbox(1, 2**31),
                heartbeat_s=5.0,
                relay_s=1.0,
                log_format="json",
                sweep=lambda: None,
            )
        )
        dramatiq.actor(broker=mine.broker, actor_name=NOOP.name, queue_name=NOOP.name)(noop)
    dramatiq.set_broker(broker)


if _mode := os.environ.get("BENCH_MODE"):
    _declare(_mode)
