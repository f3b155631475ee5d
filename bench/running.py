"""A service on servers of its own, each process tree under a reaper that accounts for it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.accounting import Tree
from bench.services import SERVICES, Service
from bench.task_stack import Servers
from embedded import ports, processes

_READY_S, _END_S = 60, 20


class StartError(Exception):
    """A service didn't start; with the end of what it said."""


@dataclass(frozen=True)
class Running:
    """A service that takes photos.

    Attributes:
        trees: `api`, `worker`, `postgres` and `redis`; `worker` only once it was started.
    """

    service: Service
    trees: dict[str, Tree]
    folder: Path

    @contextmanager
    def started(self, part: str) -> Iterator[None]:
        """Start a part that was left out, and end it after the block."""
        with _started(self.service, part, self.folder) as self.trees[part]:
            yield

    @property
    def own(self) -> list[Tree]:
        """What is the service's, without the servers that it uses."""
        return [self.trees["api"], self.trees["worker"]]


@contextmanager
def running(name: str, *, slots: int, parts: Sequence[str] = ("api", "worker")) -> Iterator[Running]:
    """Start a service by its name, on a fresh PostgreSQL and a fresh Valkey; end all of it on the way out.

    Its files go when this process ends.

    Args:
        slots: how many photos it decodes at the same time.
        parts: what to start.

    Raises:
        StartError
    """
    folder = Path(tempfile.mkdtemp(prefix="safelight-bench-"))
    # Not yet: for minutes after many files went ext4 looks at their inodes whenever it makes one (0.4 ms and
    # more each), and the next run would pay for it.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)  # PostgreSQL may run as another user
    with ExitStack() as stack:
        stack.callback(_empty, folder)
        servers = stack.enter_context(Servers(folder, within=reaper()))
        data = folder / "data"
        data.mkdir()
        service = SERVICES[name](servers.urls, data, slots)
        trees = {part: stack.enter_context(_started(service, part, folder)) for part in parts}
        trees |= {"postgres": Tree(servers.pid("postgres")), "redis": Tree(servers.pid("valkey"))}
        if not processes.settles(lambda: ports.answers(service.port, "/readyz"), timeout_s=_READY_S):
            said = "\n".join(_log(folder, part).read_text()[-2000:] for part in parts)
            raise StartError(f"{name} isn't ready:\n{said}")
        yield Running(service, trees, folder)


def _empty(folder: Path) -> None:
    """Give the files' memory back: on a virtual machine pages that nobody had before cost more."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.truncate(path, 0)


@contextmanager
def _started(service: Service, part: str, folder: Path) -> Iterator[Tree]:
    with _log(folder, part).open("wb") as log:
        process = subprocess.Popen(
            [*reaper(), *service.commands[part]],
            cwd=service.folder,
            env=dict(service.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield Tree(process.pid)
    finally:
        processes.end([process.pid], processes.TERM, grace_s=_END_S)
        process.wait()


def _log(folder: Path, part: str) -> Path:
    return folder / f"{part}.log"


def reaper() -> list[str]:
    """It is tied to us, and the command to it, so that nothing runs on when one is killed."""
    tied = processes.tied("TERM")
    return [*tied, sys.executable, "-P", str(Path(__file__).parent / "reaper.py"), *tied]
