"""A supervisord of our own: it starts the programs, restarts those that crash, and stops them in order."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import xmlrpc.client
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from supervisor.xmlrpc import Faults, SupervisorTransport

from embedded import processes
from embedded.errors import EmbeddedError
from embedded.folders import private_folder, socket_folder
from embedded.supervisor_config import Program, configuration

# supervisord gives it to whatever it starts; we give it to supervisord too, and find them all by it
_MARK = "SUPERVISOR_SERVER_URL"
_DAEMON = "supervisor.supervisord"
_SOCKET = "supervisor.sock"
_STOP_S = 14.0
_TAIL_BYTES = 3_000
_LAST_LINES = 20


@dataclass(frozen=True)
class ProcessState:
    """What supervisord says of a program: `RUNNING`, `BACKOFF`, ...; pid 0 when there is no process."""

    name: str
    pid: int


def end_leftovers(folder: Path) -> None:
    """End what a killed run left, gently: its supervisord first, which may be stopping the others already."""
    ours = _socket(folder)
    daemons = [pid for pid in _started_by(ours) if _DAEMON in processes.command_line(pid)]
    processes.end(daemons, processes.TERM, grace_s=_STOP_S)
    processes.end(_started_by(ours), processes.TERM, grace_s=_STOP_S)


class Supervisor:
    """Runs programs in one folder until it is stopped.

    Args:
        folder: absolute; for its socket and configuration.
        logs: for a log file of each program.
        programs: those with the same `stage` stop together, a higher stage before a lower one.
    """

    def __init__(self, folder: Path, logs: Path, programs: Sequence[Program]) -> None:
        self._folder = private_folder(folder)
        self._socket = _socket(folder)
        self._logs = logs
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._programs = {program.name: program for program in programs}
        self._daemon: subprocess.Popen[str] | None = None

    def launch(self, environment: Mapping[str, str], working_folder: Path) -> None:
        """Start supervisord, and no program yet, with this environment for all of them."""
        self._logs.mkdir(parents=True, exist_ok=True)
        config = self._folder / "supervisord.conf"
        programs = list(self._programs.values())
        text = configuration(self._socket, self._folder, working_folder, programs)
        config.write_text(text, encoding="utf-8")
        # Of a session of its own, so that Ctrl-C reaches us alone and everything is stopped in order.
        self._daemon = subprocess.Popen(
            [*processes.tied("TERM"), sys.executable, "-P", "-m", _DAEMON, "-c", str(config)],
            cwd=self._logs,
            env={**environment, _MARK: _url(self._socket)},
            stdin=subprocess.DEVNULL,
            # Never a file: on a full disk supervisord has to be able to say so, or it ends.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._daemon.stdout,), daemon=True).start()
        if not processes.settles(lambda: not self.alive() or self._answers(), timeout_s=20):
            raise EmbeddedError(f"supervisord doesn't answer. {self._log_of('supervisord')}")

    def start(self, *names: str) -> None:
        """Start programs; those that run already are left alone, and one that ends at once is tried again."""
        for name in names:
            if self.state(name).name in ("STOPPED", "EXITED", "FATAL"):
                try:
                    self._call("startProcess", self._full(name), False)
                except xmlrpc.client.Fault as fault:
                    if fault.faultCode != Faults.SPAWN_ERROR:  # it ended while supervisord was looking yet
                        raise

    def restart(self, name: str) -> None:
        """Stop a program, which takes its `stop_s` at most, and start it."""
        if self.state(name).name in ("STARTING", "RUNNING", "BACKOFF"):
            self._call("stopProcess", self._full(name))
        self.start(name)

    def state(self, name: str) -> ProcessState:
        """What a program does now."""
        return self.states()[name]

    def states(self) -> dict[str, ProcessState]:
        """What each program does now.

        Raises:
            EmbeddedError: supervisord isn't there any more.
        """
        found = cast(list[dict[str, Any]], self._call("getAllProcessInfo"))
        return {each["name"]: ProcessState(each["statename"], each["pid"]) for each in found}

    def until(self, ready: Callable[[], bool], *names: str, timeout_s: float) -> None:
        """Wait until the programs just started are ready.

        Raises:
            EmbeddedError: one of them ends again and again, or it took too long; with their last lines.
        """

        def settled() -> bool:
            for name in names:
                if self.state(name).name == "FATAL":
                    raise EmbeddedError(f"{name} ends at once. {self._log_of(name)}")
            return ready()

        if not processes.settles(settled, timeout_s=timeout_s):
            logs = "\n".join(map(self._log_of, names))
            raise EmbeddedError(f"{' and '.join(names)} not ready after {timeout_s:.0f} s. {logs}")

    def alive(self) -> bool:
        """Whether supervisord itself runs."""
        return self._daemon is not None and self._daemon.poll() is None

    def log(self, name: str) -> Path:
        """The log file of a program."""
        return self._logs / f"{name}.log"

    def tail(self, name: str) -> str:
        """The last lines of a program's log."""
        try:
            with self.log(name).open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
                lines = log.read().decode(errors="replace").splitlines()[-20:]
        except OSError:
            return "(no log)"
        return "\n".join(lines)

    def stop(self) -> None:
        """Stop every program, in order, and supervisord; kill what doesn't end. Takes 15 s at most."""
        if self._daemon is not None:
            if self.alive():
                self._daemon.terminate()
            processes.settles(lambda: not self.alive(), timeout_s=_STOP_S)
            if self.alive():
                self._daemon.kill()
            self._daemon.wait()
        processes.end(self._ours(), processes.KILL, grace_s=1)

    def _listen(self, said: IO[str]) -> None:
        """Keep supervisord's last words."""
        with said:
            self._said.extend(said)

    def _log_of(self, name: str) -> str:
        return f"The log of {name} ({self.log(name)}) ends:\n{self.tail(name)}"

    def _full(self, name: str) -> str:
        return f"{self._programs[name].group}:{name}"

    def _ours(self) -> list[int]:
        return _started_by(self._socket)

    def _answers(self) -> bool:
        try:
            self.states()
        except EmbeddedError:
            return False
        return True

    def _call(self, method: str, *arguments: object) -> Any:
        transport = SupervisorTransport(None, None, serverurl=_url(self._socket))
        try:
            with xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport) as proxy:
                return getattr(proxy.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException) as error:
            raise EmbeddedError("supervisord ended. " + "".join(self._said)) from error


def _socket(folder: Path) -> Path:
    # supervisord binds a longer name first, with its process id, then renames it
    return socket_folder(folder / "run", f"{_SOCKET}.12345678") / _SOCKET


def _url(socket: Path) -> str:
    return f"unix://{socket}"


def _started_by(socket: Path) -> list[int]:
    return processes.marked(_MARK, _url(socket))
