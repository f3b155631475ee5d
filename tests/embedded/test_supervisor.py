"""The supervisor: restarts, order, and what a killed run leaves."""

from __future__ import annotations

import os
import signal
import sys
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from supervisor.xmlrpc import Faults

from embedded import processes
from embedded.crashes import Crashes
from embedded.errors import EmbeddedError
from embedded.supervisor import Supervisor, end_leftovers
from embedded.supervisor_config import Program

# says when it ends; its child is left to live on when it is killed
_FAITHFUL = """
import pathlib, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
def end(signum, frame):
    child.kill()
    with open(sys.argv[1], "a") as log:
        log.write(sys.argv[2] + " ")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path(sys.argv[1] + "." + sys.argv[2]).write_text(str(child.pid))
while True:
    time.sleep(1000)
"""


@contextmanager
def supervising(folder: Path, *programs: Program) -> Iterator[Supervisor]:
    supervisor = Supervisor(folder / "supervisor", folder / "logs", programs)
    supervisor.launch(os.environ, folder)
    try:
        yield supervisor
    finally:
        supervisor.stop()


def faithful(folder: Path, name: str, *, stage: int) -> Program:
    script = folder / "faithful.py"
    script.write_text(_FAITHFUL)
    return Program(name, [sys.executable, str(script), str(folder / "ended"), name], stage=stage)


def child_of(folder: Path, name: str) -> int | None:
    record = folder / f"ended.{name}"
    return int(record.read_text() or 0) if record.exists() else None


def start(supervisor: Supervisor, folder: Path, *names: str) -> None:
    supervisor.start(*names)
    supervisor.until(lambda: all(child_of(folder, name) for name in names), *names, timeout_s=20)


def test_a_higher_stage_stops_before_a_lower_one(folder: Path) -> None:
    names = ["server", "api", "worker"]
    programs = [faithful(folder, name, stage=1 if name == "server" else 2) for name in names]
    with supervising(folder, *programs) as supervisor:
        start(supervisor, folder, *names)
    ended = (folder / "ended").read_text().split()
    assert sorted(ended[:2]) == ["api", "worker"]
    assert ended[2:] == ["server"]


def test_a_killed_program_is_back_and_the_children_it_left_are_gone(folder: Path) -> None:
    with supervising(folder, faithful(folder, "worker", stage=1)) as supervisor:
        start(supervisor, folder, "worker")
        orphan, pid = child_of(folder, "worker"), supervisor.state("worker").pid
        assert orphan is not None
        crashes = Crashes(supervisor)
        os.kill(pid, signal.SIGKILL)
        assert processes.settles(lambda: supervisor.state("worker").pid not in (0, pid), timeout_s=20)
        assert crashes.look() == [f"worker crashed and is started again; see {folder}/logs/worker.log"]
        assert processes.settles(lambda: not processes.alive(orphan), timeout_s=10)
        assert processes.settles(lambda: crashes.look() == ["worker is up again."], timeout_s=20)


def test_a_restart_on_purpose_is_no_crash(folder: Path) -> None:
    with supervising(folder, faithful(folder, "worker", stage=1)) as supervisor:
        start(supervisor, folder, "worker")
        pid = supervisor.state("worker").pid
        crashes = Crashes(supervisor)
        crashes.restart("worker")
        assert supervisor.state("worker").pid not in (0, pid)
        assert crashes.look() == []


def test_a_program_that_cannot_start_is_an_error_that_shows_its_log(folder: Path) -> None:
    broken = Program("api", [sys.executable, "-c", "import no_such_module"], stage=1)
    with supervising(folder, broken) as supervisor:
        supervisor.start("api")
        with pytest.raises(EmbeddedError, match="No module named 'no_such_module'"):
            supervisor.until(lambda: False, "api", timeout_s=30)


def test_a_program_that_is_late_is_an_error_that_shows_its_log(folder: Path) -> None:
    slow = Program("api", ["sh", "-c", "echo loading; exec sleep 1000"], stage=1)
    with supervising(folder, slow) as supervisor:
        supervisor.start("api")
        assert processes.settles(lambda: "loading" in supervisor.tail("api"), timeout_s=20)
        with pytest.raises(EmbeddedError, match=r"(?s)api not ready after 0 s.*loading"):
            supervisor.until(lambda: False, "api", timeout_s=0)


def test_starting_a_program_that_ends_at_once_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = Supervisor(folder / "supervisor", folder / "logs", [Program("worker", ["true"], stage=1)])

    def answer(method: str, *_: object) -> object:
        if method == "startProcess":  # supervisord says so if it sees the end already: seldom
            raise xmlrpc.client.Fault(Faults.SPAWN_ERROR, "SPAWN_ERROR: worker")
        return [{"name": "worker", "statename": "FATAL", "pid": 0}]

    monkeypatch.setattr(supervisor, "_call", answer)
    supervisor.start("worker")


def test_a_program_that_crashes_again_and_again_is_never_given_up(folder: Path) -> None:
    broken = Program("worker", ["false"], stage=1)
    with supervising(folder, broken) as supervisor:
        crashes = Crashes(supervisor)
        supervisor.start("worker")
        assert processes.settles(lambda: supervisor.state("worker").name == "FATAL", timeout_s=30)
        crashes.look()
        assert supervisor.state("worker").name in ("STARTING", "BACKOFF")


def test_what_a_killed_supervisor_left_is_ended(folder: Path) -> None:
    with supervising(folder, faithful(folder, "worker", stage=1)) as supervisor:
        start(supervisor, folder, "worker")
        worker, child = supervisor.state("worker").pid, child_of(folder, "worker")
        assert child is not None
        left = processes.marked("SUPERVISOR_SERVER_URL", f"unix://{folder}/supervisor/run/supervisor.sock")
        assert {worker, child} < set(left)
        (daemon,) = set(left) - {worker, child}
        os.kill(daemon, signal.SIGKILL)
        end_leftovers(folder / "supervisor")
        assert not any(map(processes.alive, left))


def test_odd_characters_in_a_path_are_no_obstacle(folder: Path) -> None:
    odd = folder / "my photös 100% (a; b)"
    odd.mkdir()
    with supervising(odd, Program("worker", ["sh", "-c", "pwd; exec sleep 1000"], stage=1)) as supervisor:
        supervisor.start("worker")
        assert processes.settles(lambda: supervisor.tail("worker") == str(odd), timeout_s=20)
