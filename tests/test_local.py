"""What `make run` starts, as a person meets it: real processes, real signals."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg2
import pytest

from embedded import ports, processes
from embedded.home import locked
from tests.http import Answer, ask
from tests.pictures import jpeg

PROJECT = Path(__file__).resolve().parent.parent
_STARTS_S = 90.0
_STOPS_S = 15.0
_LAST_LINE = "Ctrl-C stops it."  # from then on it watches over what runs
_OF_EACH = ("SAFELIGHT_HOME", "SAFELIGHT_PORT")


def bare_environment() -> dict[str, str]:
    """Ours without any setting: other tests of this process may have left some."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SAFELIGHT_")}


class Run:
    """One `local.py` in a home of its own."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.port = ports.any_free_port()
        self.output = home.parent / f"{home.name}.txt"
        environment = bare_environment()
        environment |= {"SAFELIGHT_HOME": str(home), "SAFELIGHT_PORT": str(self.port)} | settings
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "local.py"],
                cwd=PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def wait_ready(self) -> Run:
        processes.settles(
            lambda: _LAST_LINE in self.said() or self.process.poll() is not None, timeout_s=_STARTS_S
        )
        assert f"ready: http://127.0.0.1:{self.port}" in self.said()
        return self

    def settings(self) -> dict[str, str]:
        words = shlex.split((self.home / "env").read_text())
        return dict(word.split("=", 1) for word in words if "=" in word)

    def ask(self, query: str) -> object:
        with closing(psycopg2.connect(self.settings()["SAFELIGHT_DATABASE_URL"])) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(query)
                return cursor.fetchone() if cursor.description else None

    def status(self) -> int:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status

    def left(self) -> list[int]:
        """What runs on behalf of this home; local.py itself too."""
        return processes.marked("SAFELIGHT_HOME", str(self.home))

    def command_lines(self) -> list[str]:
        """Those of all that runs."""
        return [" ".join(processes.command_line(pid)) for pid in self.left()]

    def main_process(self, program: str) -> int:
        """The oldest process of a program, `dramatiq`, say: the one that the supervisor started."""
        return min(pid for pid in self.left() if program in processes.command_line(pid))

    def prometheus(self, path: str) -> object:
        """What its Prometheus answers; None while it doesn't."""
        port = int(self.settings()["SAFELIGHT_PROMETHEUS_PORT"])
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return json.loads(answer.read()) if answer.status == 200 else None
            except OSError:
                return None

    def query(self, expression: str) -> list[Any]:
        """Series from its Prometheus; none while it doesn't answer."""
        answer = self.prometheus(f"/api/v1/query?query={quote(expression)}")
        return list(answer["data"]["result"]) if isinstance(answer, dict) else []

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(signum)
        return self.process.wait(timeout=_STOPS_S)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Run]]:
    """Start `local.py`; whatever is left of it when the test is over is killed."""
    runs: list[Run] = []

    def start(name: str = "home", **settings: str) -> Run:
        runs.append(Run(folder / name, **settings))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.terminate()
            processes.settles(lambda: run.process.poll() is not None, timeout_s=_STOPS_S)  # noqa: B023
        run.process.kill()
        run.process.wait()
        processes.end(run.left(), signal.SIGKILL, grace_s=5)


def test_it_starts_stops_and_goes_on_with_its_data(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    assert run.status() == 200
    run.ask("CREATE TABLE kept AS SELECT 7 AS number")
    assert run.stop() == 0
    assert run.left() == []
    again = start().wait_ready()
    assert again.ask("SELECT number FROM kept") == (7,)
    assert again.stop(signal.SIGINT) == 0


def test_a_shell_that_sourced_its_settings_starts_it_again(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    sourced = {name: value for name, value in run.settings().items() if name not in _OF_EACH}
    assert sourced["SAFELIGHT_DATABASE_URL"]
    assert run.stop() == 0
    again = start("elsewhere", **sourced).wait_ready()
    assert again.stop() == 0


def test_a_backup_is_restored_into_another_home(start: Callable[..., Run], folder: Path) -> None:
    run = start().wait_ready()
    key = {"Authorization": f"Bearer {(run.home / 'admin.key').read_text().strip()}"}
    assert ask(run.port, "POST", "/v1/photos", body=jpeg(), headers=key).status == 202
    flask = [sys.executable, "-m", "flask", "--app", "app", "backup", str(folder / "backup")]
    environment = {**bare_environment(), **run.settings()}
    subprocess.run(flask, cwd=PROJECT, env=environment, check=True, timeout=60)
    assert run.stop() == 0

    other = {
        **bare_environment(),
        "SAFELIGHT_HOME": str(folder / "other"),
        "SAFELIGHT_PORT": str(ports.any_free_port()),
    }
    command = [sys.executable, "local.py", "--restore", str(folder / "backup")]
    restored = subprocess.run(command, cwd=PROJECT, env=other, capture_output=True, text=True, timeout=120)
    assert restored.returncode == 0, restored.stderr
    assert "1 photos" in restored.stdout
    again = subprocess.run(command, cwd=PROJECT, env=other, capture_output=True, text=True, timeout=120)
    assert (again.returncode, "the database isn't empty" in again.stderr) == (1, True)
    there = start("other").wait_ready()
    assert ask(there.port, "GET", "/v1/photos", headers=key).json["photos"]
    assert there.stop() == 0


def test_the_link_that_it_prints_signs_in_once(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    assert processes.settles(lambda: "/sign-in/" in run.said(), timeout_s=10)
    line = next(line for line in run.said().splitlines() if line.startswith("Sign in"))
    address, _, path = line.rpartition(": ")[2].partition("/sign-in/")
    assert address == f"http://127.0.0.1:{run.port}"

    def press(link: str) -> Answer:
        return ask(run.port, "POST", f"/sign-in/{link}", headers={"Origin": address, "Content-Length": "0"})

    assert ask(run.port, "GET", f"/sign-in/{path}").status == 200
    signed_in = press(path)
    assert signed_in.status == 303
    session = {"Cookie": signed_in.headers["Set-Cookie"].partition(";")[0]}
    me = ask(run.port, "GET", "/v1/me", headers=session).json
    assert (me["owner"], me["scopes"]) == ("admin", ["admin"])
    assert press(path).status == 403
    assert ask(run.port, "GET", "/v1/me", headers={**session, "Host": "evil.example"}).status == 421
    assert path not in (run.home / "logs" / "api.log").read_text()
    assert run.stop() == 0


def test_a_taken_port_is_a_clear_error_before_anything_is_started(start: Callable[..., Run]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = start(SAFELIGHT_PORT=str(port))
        assert run.process.wait(timeout=30) == 1
    assert f"port {port} is taken: set SAFELIGHT_PORT" in run.said()
    assert not (run.home / "postgres" / "data").exists()


def test_a_second_run_in_the_same_home_is_a_clear_error(start: Callable[..., Run], folder: Path) -> None:
    with locked(folder / "home"):
        run = start()
        assert run.process.wait(timeout=30) == 1
    assert "already" in run.said()


def test_a_wrong_setting_is_a_clear_error(start: Callable[..., Run]) -> None:
    run = start(SAFELIGHT_WORKER_SLOTS="many")
    assert run.process.wait(timeout=30) == 1
    assert "SAFELIGHT_WORKER_SLOTS='many' is not a whole number" in run.said()


@pytest.mark.slow
def test_servers_that_are_set_are_used_and_none_is_started(
    start: Callable[..., Run], database_url: str, redis_url: str
) -> None:
    run = start(SAFELIGHT_DATABASE_URL=database_url, SAFELIGHT_REDIS_URL=redis_url).wait_ready()
    assert run.settings()["SAFELIGHT_DATABASE_URL"] == database_url
    assert not (run.home / "postgres").exists()
    assert not (run.home / "valkey").exists()
    assert run.stop() == 0


@pytest.mark.slow
def test_two_homes_run_side_by_side(start: Callable[..., Run]) -> None:
    first, second = start("first"), start("second")
    assert (first.wait_ready().status(), second.wait_ready().status()) == (200, 200)
    assert first.stop() == 0
    assert second.status() == 200


@pytest.mark.slow
def test_a_taken_monitoring_port_is_replaced(start: Callable[..., Run]) -> None:
    port = ports.any_free_port()
    with socket.create_server(("127.0.0.1", port + 1)):
        run = start(SAFELIGHT_PORT=str(port))
        run.port = port
        run.wait_ready()
    assert run.settings()["SAFELIGHT_MONITORING_PORT"] != str(port + 1)


@pytest.mark.slow
def test_after_a_kill_nothing_is_left_and_it_starts_again(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    run.ask("CREATE TABLE kept AS SELECT 7 AS number")
    run.process.kill()
    again = start().wait_ready()  # at once, while the first one's processes are still ending
    assert again.ask("SELECT number FROM kept") == (7,)
    again.process.kill()
    assert processes.settles(lambda: again.left() == [], timeout_s=_STOPS_S)


@pytest.mark.slow
def test_without_its_supervisor_it_ends_and_nothing_is_left(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    os.kill(run.main_process("supervisor.supervisord"), signal.SIGKILL)
    assert run.process.wait(timeout=_STOPS_S) == 1
    assert processes.settles(lambda: run.left() == [], timeout_s=_STOPS_S)
    assert "supervisord ended" in run.said()


@pytest.mark.slow
@pytest.mark.parametrize("program", ["gunicorn", "dramatiq"])
def test_a_killed_program_comes_back(start: Callable[..., Run], program: str) -> None:
    run = start().wait_ready()
    pid = run.main_process(program)
    os.kill(pid, signal.SIGKILL)
    assert processes.settles(lambda: "is up again" in run.said(), timeout_s=30)
    assert run.main_process(program) != pid
    assert run.status() == 200
    assert run.stop() == 0
    assert run.left() == []


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_nothing(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    run.process.send_signal(signal.SIGINT)
    assert processes.settles(lambda: "Stopping" in run.said(), timeout_s=5)
    assert run.stop(signal.SIGINT) == 0
    assert run.left() == []


def scraped(run: Run) -> bool:
    """Whether its Prometheus has the pipeline's, the API's and the worker's metrics."""
    found = [each["metric"] for each in run.query("up == 1")]
    return {labels.get("role", labels["job"]) for labels in found} == {
        "safelight-pipeline",
        "api",
        "worker",
    }


@pytest.mark.slow
def test_prometheus_watches_it_with_our_rules_and_ends_with_it(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    address = f"Prometheus: http://127.0.0.1:{run.settings()['SAFELIGHT_PROMETHEUS_PORT']}"
    assert processes.settles(lambda: address in run.said(), timeout_s=10)
    assert address.endswith(run.settings()["SAFELIGHT_PROMETHEUS_URL"])
    assert processes.settles(lambda: scraped(run), timeout_s=60)
    # The objective's threshold is the label of a bucket as real processes write it.
    of_objective = "safelight_photo_ready_seconds_bucket * on (le) group_left () safelight:slo_threshold:le"
    assert processes.settles(lambda: bool(run.query(of_objective)), timeout_s=30)
    answer = run.prometheus("/api/v1/rules?type=alert")
    assert isinstance(answer, dict)
    names = {rule["name"] for group in answer["data"]["groups"] for rule in group["rules"]}
    assert {"NoWorkersAlive", "SloBurnFast", "Watchdog"} <= names
    assert run.stop(signal.SIGINT) == 0
    assert run.left() == []


@pytest.mark.slow
def test_a_killed_prometheus_comes_back_and_the_service_does_not_care(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    assert processes.settles(lambda: run.prometheus("/api/v1/status/runtimeinfo") is not None, timeout_s=30)
    program = shutil.which("prometheus")
    assert program
    os.kill(run.main_process(program), signal.SIGKILL)
    assert run.status() == 200
    assert processes.settles(lambda: "prometheus is up again" in run.said(), timeout_s=30)
    assert run.status() == 200
    assert run.stop() == 0


def all_but(program: str, folder: Path) -> Path:
    """A folder of links to every program on PATH, except for one."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for found in Path(place).glob("*"):
            if found.name != program:
                (folder / found.name).unlink(missing_ok=True)
                (folder / found.name).symlink_to(found)
    return folder


@pytest.mark.slow
def test_without_prometheus_or_with_its_port_taken_it_runs_all_the_same(
    start: Callable[..., Run], folder: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = start(SAFELIGHT_PROMETHEUS_PORT=str(port)).wait_ready()
        assert f"Prometheus isn't started: port {port} is taken: set SAFELIGHT_PROMETHEUS_PORT" in run.said()
        assert "Prometheus: http" not in run.said()
        assert run.stop() == 0
    without = start("without", PATH=str(all_but("prometheus", folder / "bin"))).wait_ready()
    assert "Prometheus" not in without.said()
    assert without.stop() == 0


def test_the_demo_shows_an_analysis_by_a_worker_of_its_own(start: Callable[..., Run]) -> None:
    run = start(SAFELIGHT_ANALYSIS_URL="demo").wait_ready()
    key = {"Authorization": f"Bearer {(run.home / 'admin.key').read_text().strip()}"}
    photo = ask(run.port, "POST", "/v1/photos?analysis=true", body=jpeg(), headers=key).json

    def analysis() -> Any:
        return ask(run.port, "GET", f"/v1/photos/{photo['id']}", headers=key).json["analysis"]

    assert processes.settles(lambda: analysis()["state"] == "complete", timeout_s=60), analysis()
    assert set(analysis()["data"]) == {"place", "labels", "faces", "moderation"}
    lines = run.command_lines()
    assert any("--queues preview exif" in line for line in lines)
    assert any("--queues analysis" in line for line in lines)
    assert run.stop() == 0
    assert run.left() == []


def test_without_a_service_there_is_one_worker_of_all_queues(start: Callable[..., Run]) -> None:
    run = start().wait_ready()
    assert not any("--queues" in line or "slow_service" in line for line in run.command_lines())
    assert run.stop() == 0
