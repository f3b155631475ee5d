"""A worker in this process: Dramatiq's own threads over the task layer, with the service's middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dramatiq
from prometheus_client import CollectorRegistry

from actors.beside import Beside
from actors.retry import RetryTasks
from imaging.sandbox import Sandbox
from observability.presence import Presence
from tasks.claim import Claim
from tasks.kinds import Kind
from tests.tasks.layer import Layer

Job = Callable[[Claim], None]


@contextmanager
def running(
    layer: Layer, sandbox: Sandbox, jobs: dict[Kind, Job], *, threads: int = 1
) -> Iterator[dramatiq.Worker]:
    """Run tasks of the given kinds, each by its job, until the block ends."""
    presence = Presence(layer.client, CollectorRegistry(), role="worker", interval_s=0.5)
    layer.broker.add_middleware(RetryTasks(layer.work))
    layer.broker.add_middleware(
        Beside(
            layer.work,
            layer.relay,
            presence,
            sandbox,
            heartbeat_s=0.1,
            relay_s=0.1,
            log_format="json",
            sweep=lambda: None,
        )
    )
    for kind, job in jobs.items():
        _declare(layer, kind, job)
    worker = dramatiq.Worker(layer.broker, worker_threads=threads, worker_timeout=50)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(timeout=2_000)


def _declare(layer: Layer, kind: Kind, job: Job) -> None:
    @dramatiq.actor(broker=layer.broker, actor_name=kind.name, queue_name=kind.name)
    def act(task_id: str) -> None:
        with layer.work.claimed(kind.name, task_id) as claim:
            job(claim)
