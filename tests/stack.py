"""The whole service as the processes that run it, for tests that cross the rooms."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from api.keys import Keys
from config import Settings
from db.session import Database
from embedded import ports, processes
from tests.http import Answer, ask

ROOT = Path(__file__).parent.parent
_BIN = Path(sys.executable).parent
_START_S, _END_S = 60, 15


def environment(settings: Settings) -> dict[str, str]:
    """Settings as the variables that a process reads them from."""
    given = {
        f"SAFELIGHT_{field.name.upper()}": str(getattr(settings, field.name)) for field in fields(settings)
    }
    return {**os.environ, **given}


class Stack:
    """gunicorn and `dramatiq actors` as children. On the way out they end, and their logs must be clean.

    Args:
        folder: where their logs go.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.expected: list[str] = []
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._database = Database(settings.database_url, pool_size=2, application_name="tests-stack")
        self._keys = Keys(self._database)

    def __enter__(self) -> Stack:
        try:
            self.start("api", "gunicorn", "app:create_app()")
            self.start("worker", "dramatiq", "actors", "--skip-logging", "--processes", "1", "--threads", "4")
            ready = processes.settles(self._ready, timeout_s=_START_S)
            assert ready, f"the service isn't ready:\n{self.log('api')}\n{self.log('worker')}"
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        assert not (errors := self.unexpected()), "in the logs:\n" + "\n".join(errors)

    def start(
        self, name: str, program: str, *arguments: str, source: Path = ROOT, within: Sequence[str] = ()
    ) -> None:
        """Start one process, of this or another version; its process group is ended with the stack.

        Args:
            within: a command that starts it: elsewhere, or with other settings.
        """
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*processes.tied("TERM"), *within, str(_BIN / program), *arguments],
                cwd=source,
                env=environment(self.settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self, name: str, signum: signal.Signals = signal.SIGTERM) -> None:
        """End one process, as `docker stop` does, and wait for it; `start` starts it again."""
        self._running[name].send_signal(signum)
        process = self._running.pop(name)
        status = process.wait(_END_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what is left of its group
        assert signum != signal.SIGTERM or status == 0, f"{name} ended with {status}"

    def end(self) -> None:
        """End every process, and whatever is left of its group."""
        self._database.close()
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.expected.clear()
                with self._log("stack").open("a") as log:
                    log.write(
                        json.dumps({"level": "error", "message": f"{process.args!r} didn't end"}) + "\n"
                    )
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                process.wait()

    def terminate(self, name: str) -> None:
        """SIGTERM, as `docker stop` does; nothing is waited for."""
        self._running[name].terminate()

    def has_ended(self, name: str) -> bool:
        """Whether a process has ended."""
        return self._running[name].poll() is not None

    def takes_requests(self) -> bool:
        """Whether the API takes connections."""
        return not ports.port_free(self.settings.port)

    def stored_files(self) -> list[str]:
        """Every file in the store's folder, unfinished ones too."""
        folder = Path(self.settings.storage_url.removeprefix("file://"))
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def key(self, owner: str, *scopes: str) -> dict[str, str]:
        """Headers with a new key of an owner; with no scope named, all but `admin`."""
        text = self._keys.create(owner, scopes or ("photos:write", "photos:read", "originals:read"))
        return {"Authorization": f"Bearer {text}"}

    def ask(self, method: str, path: str, **options: Any) -> Answer:
        """One request to the API."""
        return ask(self.settings.port, method, path, **options)

    def get(self, path: str, key: dict[str, str]) -> Answer:
        """One GET with a key."""
        return self.ask("GET", path, headers=key)

    def upload(self, data: bytes, key: dict[str, str], **headers: str) -> dict[str, Any]:
        """Upload raw bytes; returns the photo."""
        answer = self.ask("POST", "/v1/photos", body=data, headers={**key, **headers})
        assert answer.status in (200, 202), answer.body
        photo: dict[str, Any] = answer.json
        return photo

    def wait_done(self, photo: dict[str, Any], key: dict[str, str], timeout_s: float = 30) -> dict[str, Any]:
        """The photo, once it is no longer being processed."""
        headers = {**key, "Prefer": f"wait={timeout_s:.0f}"}
        done: dict[str, Any] = self.ask("GET", f"/v1/photos/{photo['id']}", headers=headers).json
        assert done["state"] != "processing", f"{done}\n{self.log('worker')}"
        return done

    def wait_ready(self, photo: dict[str, Any], key: dict[str, str], timeout_s: float = 30) -> dict[str, Any]:
        """The photo, once it is ready."""
        done = self.wait_done(photo, key, timeout_s)
        assert done["state"] == "ready", done
        return done

    def query(self, statement: str, **parameters: Any) -> list[Any]:
        """Rows from the stack's database."""
        with self._database.transaction() as tx:
            return list(tx.execute(statement, parameters))

    def pids(self, name: str) -> list[int]:
        """A process' children: gunicorn's workers, say."""
        master = self._running[name].pid
        return [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]

    def log(self, name: str) -> str:
        """All that a process has said."""
        return self._log(name).read_text() if self._log(name).exists() else ""

    def unexpected(self) -> list[str]:
        """Lines of the logs that tell of an error that no test announced in `expected`."""
        lines = [line for name in ("api", "worker", "stack") for line in self.log(name).splitlines()]
        return [line for line in lines if _is_error(line) and not self._is_expected(line)]

    def _is_expected(self, line: str) -> bool:
        return any(re.search(pattern, line) for pattern in self.expected)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _ready(self) -> bool:
        alive = all(process.poll() is None for process in self._running.values())
        assert alive, f"a process ended:\n{self.log('api')}\n{self.log('worker')}"
        return ports.answers(self.settings.port, "/readyz") and "worker ready" in self.log("worker")


def _is_error(line: str) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:
        return True  # it came around our own logging: a traceback, a warning
    return entry["level"] in ("error", "critical") or "traceback" in entry
