"""How gunicorn runs the API: `gunicorn 'app:create_app()'` in this folder reads this file by itself."""

import gc
import importlib
import math
from pathlib import Path
from typing import Any

import gunicorn.util

from api.server_errors import write_problem
from config import Settings
from observability import logs

_settings = Settings.for_root()
gunicorn.util.write_error = write_problem

bind = [
    f"{_settings.host}:{_settings.port}",
    f"{_settings.monitoring_host}:{_settings.monitoring_port}",
]
worker_class = "api.server.Worker"
workers = _settings.api_processes
# A waiting client (an event stream, `Prefer: wait`) holds a thread, never a database connection. So that none
# of the others' are among them there are as many more as clients may wait; one is made when it is needed.
threads = _settings.api_threads + _settings.api_waiting
worker_connections = threads + 1000
# Only SAFELIGHT_TRUSTED_PROXIES says whose word is taken for the scheme, not where it comes from.
forwarded_allow_ips = ""
# From SIGTERM on: requests are taken while the end is announced, then those under way have their grace.
graceful_timeout = math.ceil(_settings.drain_s + _settings.grace_s)
keepalive = 5
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - gunicorn's heartbeat file
control_socket_disable = True
# gunicorn's own lines look like all others. Its access log has query strings; the API writes a better one.
logconfig_dict = {
    "formatters": {"own": {"()": type(logs.formatter(_settings.log_format))}},
    "handlers": {"own": {"class": "logging.StreamHandler", "formatter": "own"}},
    "root": {"level": "INFO", "handlers": ["own"]},
    "loggers": {
        "gunicorn.error": {"level": "INFO", "propagate": True},
        "gunicorn.access": {"level": "CRITICAL", "propagate": False},
    },
}


def on_starting(server: Any) -> None:
    """In the master, before the first fork: have several processes share their modules.

    One process would share them with nobody; where it dies the next imports them anew. Nothing is opened or
    started by that; `create_app` runs in each process, after the fork. A new version needs a new master:
    SIGHUP would start processes with the modules that this one has.
    """
    if server.cfg.workers > 1 and not server.cfg.reload:
        importlib.import_module("app")
        if _settings.storage_url.startswith("s3://"):
            importlib.import_module("storage.bucket")  # which `create_app` would import
        gc.freeze()


def post_worker_init(worker: Any) -> None:
    """In each API process, after the fork: serve its own metrics, and announce it."""
    worker.wsgi.extensions["safelight.presence"].start()
    worker.wsgi.extensions["safelight.hub"].watch(lambda: bool(worker.alive))


def worker_exit(server: Any, worker: Any) -> None:
    """Withdraw what `post_worker_init` announced."""
    if getattr(worker, "wsgi", None) is not None:
        worker.wsgi.extensions["safelight.hub"].stop()
        worker.wsgi.extensions["safelight.presence"].stop()
