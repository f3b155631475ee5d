"""The services that are driven: what starts each, and with which environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg2

from api.keys import Keys
from bench.peers import install
from config import Settings
from db.session import Database
from embedded.ports import any_free_port
from tests.stack import ROOT, environment

Urls = tuple[str, str]


@dataclass(frozen=True)
class Service:
    """What can be started and driven.

    Args:
        commands: one for `api`, one for `worker`.
        folder: where they are started.
        port: of 127.0.0.1, where `/readyz` tells that it takes photos.
        headers: what each request needs.
    """

    name: str
    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    folder: Path
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)


def safelight(urls: Urls, folder: Path, slots: int) -> Service:
    """As in production: gunicorn, and one worker; all settings by default, but for the places.

    The limit of requests is out of reach, yet each request is counted.
    """
    settings = Settings(
        database_url=urls[0],
        redis_url=urls[1],
        storage_url=(folder / "store").as_uri(),
        port=any_free_port(),
        monitoring_port=any_free_port(),
        rate_limit="1000000/minute",
        worker_slots=slots + 2,
    )
    with closing(Database(settings.database_url, pool_size=1)) as database:
        key = Keys(database).create("bench", ("photos:write", "photos:read"))
    actors = [
        "-m",
        "dramatiq",
        "actors",
        "--skip-logging",
        "--processes",
        "1",
        "--threads",
        str(settings.worker_slots),
    ]
    return Service(
        "safelight",
        {
            "api": [sys.executable, "-m", "gunicorn", "app:create_app()"],
            "worker": [sys.executable, *actors],
        },
        environment(settings),
        ROOT,
        settings.port,
        {"Authorization": f"Bearer {key}"},
    )


def node(urls: Urls, folder: Path, slots: int) -> Service:
    """Fastify, BullMQ, sharp and exifr: one API process, one worker that does `slots` photos at a time."""
    home, port = install.node(), any_free_port()
    commands = {"api": ["node", "server.js"], "worker": ["node", "worker.js"]}
    return Service("node", commands, _peer_environment(urls, folder, port, slots), home, port)


def celery(urls: Urls, folder: Path, slots: int) -> Service:
    """Flask, Celery, Pillow and ExifRead: gunicorn with two processes, `slots` prefork workers."""
    home, port = install.celery(), any_free_port()
    programs = home / "venv" / "bin"
    api = ["gunicorn", "service:app", "--bind", f"127.0.0.1:{port}", "--workers", "2", "--threads", "8"]
    worker = ["celery", "--app", "work", "worker", "--concurrency", str(slots), "--loglevel", "WARNING"]
    commands = {
        name: [str(programs / first), *rest] for name, (first, *rest) in (("api", api), ("worker", worker))
    }
    return Service("celery", commands, _peer_environment(urls, folder, port, slots), home, port)


def _peer_environment(urls: Urls, folder: Path, port: int, slots: int) -> dict[str, str]:
    """The same servers, reached the same way; and the one table that the peers need."""
    connection = psycopg2.connect(urls[0])
    with closing(connection), connection, connection.cursor() as cursor:
        cursor.execute(install.SCHEMA.read_text())
    postgres = urlsplit(urls[0])
    return {
        **os.environ,
        "PGHOST": parse_qs(postgres.query)["host"][0],
        "PGUSER": postgres.username or "",
        "PGDATABASE": postgres.path.lstrip("/"),
        "REDIS_SOCKET": urlsplit(urls[1]).path,
        "DATA": str(folder),
        "PORT": str(port),
        "SLOTS": str(slots),
        "NODE_ENV": "production",
    }


SERVICES: dict[str, Callable[[Urls, Path, int], Service]] = {
    "safelight": safelight,
    "node": node,
    "celery": celery,
}
