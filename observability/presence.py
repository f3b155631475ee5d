"""Which processes are alive: each announces itself in Redis, with where its own metrics are."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from threading import Thread
from wsgiref.simple_server import WSGIServer

import redis
from prometheus_client import CollectorRegistry, start_http_server

from observability.periodic import Periodic

_KEY = "safelight:process:"
_TTL_FACTOR = 3


@dataclass(frozen=True)
class Process:
    """A live process of the service.

    Attributes:
        role: `api` or `worker`.
        target: host:port of its own metrics.
        slots: tasks that it can process at once; 0 for the API.
        away: queues whose tasks it puts off, because what they need is away.
        version, revision, python: what it runs.
        started_at: when, by its own clock (ISO 8601).
        led_at: when it last led a round of the relay, by PostgreSQL's clock (ISO 8601).
    """

    name: str
    role: str
    target: str
    slots: int
    away: tuple[str, ...] = ()
    version: str | None = None
    revision: str | None = None
    python: str | None = None
    started_at: str | None = None
    led_at: str | None = None


@dataclass(frozen=True)
class Build:
    """Which code a process runs."""

    version: str = "unknown"
    revision: str = "unknown"


class Presence:
    """Serves this process' metrics on a free port and announces it in Redis, until it is stopped.

    Make it before a fork if you like, but start it after.

    Args:
        host: the address to listen on, at which Prometheus reaches this process; for 0.0.0.0 that is
            its host name (a container's, say).
        interval_s: how often it is announced; a process that died vanishes after three intervals.
        away: the queues whose tasks this process puts off now.
        led_at: when this process last led a round of the relay.
    """

    def __init__(
        self,
        client: redis.Redis,
        registry: CollectorRegistry,
        *,
        role: str,
        slots: int = 0,
        host: str = "127.0.0.1",
        interval_s: float,
        build: Build = Build(),
        away: Callable[[], tuple[str, ...]] = tuple,
        led_at: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._client = client
        self.registry = registry
        self._role = role
        self._slots = slots
        self._build = build
        self._away = away
        self._led_at = led_at
        self._host = host
        self._interval_s = interval_s
        self._server: tuple[WSGIServer, Thread] | None = None
        self._periodic = Periodic("presence", self.announce, interval_s=interval_s)

    def start(self) -> None:
        """Serve the metrics, and announce this process from now on."""
        self._started_at = datetime.now(UTC)
        self._server = start_http_server(0, addr=self._host, registry=self.registry)
        self._periodic.start()

    def announce(self) -> None:
        """Say that this process, which serves its metrics, is alive.

        Raises:
            redis.RedisError
        """
        if self._server is not None:
            host = socket.gethostname() if self._host == "0.0.0.0" else self._host  # noqa: S104 - compared
            value = json.dumps(asdict(self._said(f"{host}:{self._server[0].server_port}")))
            ttl_ms = int(self._interval_s * _TTL_FACTOR * 1000)
            self._client.set(f"{_KEY}{process_name()}", value, px=ttl_ms)

    def _said(self, target: str) -> Process:
        led_at = self._led_at()
        return Process(
            process_name(),
            self._role,
            target,
            self._slots,
            self._away(),
            self._build.version,
            self._build.revision,
            platform.python_version(),
            self._started_at.isoformat(),
            led_at.isoformat() if led_at else None,
        )

    def stop(self) -> None:
        """Withdraw: the process is going."""
        if self._server is None:
            return
        self._periodic.stop()
        server, thread = self._server
        server.shutdown()
        server.server_close()
        thread.join()
        with contextlib.suppress(redis.RedisError):
            self._client.delete(f"{_KEY}{process_name()}")


def process_name() -> str:
    """This process among all of the service: host and pid."""
    return f"{socket.gethostname()}:{os.getpid()}"


def processes(client: redis.Redis) -> list[Process]:
    """All live processes, by name.

    Raises:
        redis.RedisError
    """
    keys = list(client.scan_iter(f"{_KEY}*", count=1000))
    values = client.mget(keys) if keys else []
    return sorted((_process(value) for value in values if value), key=lambda found: found.name)


def _process(value: bytes | str) -> Process:
    """One announcement, which may be another version's, and say more or less."""
    said = json.loads(value)
    return Process(**{field.name: said[field.name] for field in fields(Process) if field.name in said})


def targets(client: redis.Redis) -> list[dict[str, object]]:
    """The live processes as Prometheus' HTTP service discovery wants them.

    Raises:
        redis.RedisError
    """
    return [
        {"targets": [found.target], "labels": {"role": found.role, "process": found.name}}
        for found in processes(client)
    ]
