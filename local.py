"""What `make run` starts: PostgreSQL and Valkey of our own, API, workers, Prometheus, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry
from sqlalchemy.exc import OperationalError

from api.keys import Keys
from api.sessions import Sessions
from config import ConfigError, Settings
from db.migrate import upgrade
from db.session import Database
from embedded import home as homes
from embedded import ports, processes, supervisor
from embedded.account import server_account
from embedded.crashes import Crashes
from embedded.errors import EmbeddedError
from embedded.postgres import Postgres
from embedded.postgres_programs import find_programs
from embedded.prometheus import SETTING, Prometheus, usable_port
from embedded.prometheus import find_program as find_prometheus
from embedded.stopping import Stopped, ignore_signals, stop_on_signals
from embedded.supervisor import Supervisor
from embedded.supervisor_config import Program
from embedded.valkey import Valkey, find_program
from observability.metrics import StoreMetrics
from photos.kinds import ANALYSIS, KINDS
from storage.store import OPERATIONS, Store
from tasks.broker import connect

PROJECT = Path(__file__).resolve().parent
DATABASE = "safelight"
_GRAFANA = "http://localhost:3000"  # where links of alerts lead; ours in containers, if any
_DEMO = "analysis-demo"
_GRACE_S = 8  # of the 10 s after which the API and the worker are killed
_SERVERS_S = 300.0  # PostgreSQL may have to recover, Valkey to load
_READY_S = 60.0


@dataclass(frozen=True)
class Stack:
    """What is to run, and with which environment."""

    home: Path
    environment: dict[str, str]
    settings: Settings
    postgres: Postgres | None
    valkey: Valkey | None
    prometheus: Prometheus | None
    reload: bool
    demo_port: int | None = None

    def programs(self) -> list[Program]:
        """The processes to supervise; the servers (stage 1) outlive those that use them (stage 2)."""
        python, tied = sys.executable, processes.tied("TERM")
        api = [*tied, python, "-m", "gunicorn", "app:create_app()", *(["--reload"] if self.reload else [])]
        programs = [Program("api", api, stage=2), *self.workers()]
        if self.demo_port:
            demo = [*tied, python, "examples/slow_service.py", "--port", str(self.demo_port)]
            programs.append(Program(_DEMO, demo, stage=2))
        if self.postgres:
            command = self.postgres.command()
            programs.append(Program("postgres", command, stage=1, stop_signal="INT", stop_s=3))
        if self.valkey:
            programs.append(Program("valkey", self.valkey.command(), stage=1, stop_s=3))
        if self.prometheus:
            programs.append(Program("prometheus", self.prometheus.command(), stage=2, stop_s=5))
        return programs

    def workers(self) -> list[Program]:
        """A worker; and one of its own for what waits for a remote service, if there is one."""
        if not self.settings.analysis_url:
            return [_worker("worker", self.settings.worker_slots)]
        others = [name for name in KINDS if name != ANALYSIS.name]
        return [
            _worker("worker", self.settings.worker_slots, others),
            _worker("analysis", self.settings.analysis_slots, [ANALYSIS.name]),
        ]


def _worker(name: str, slots: int, queues: Sequence[str] = ()) -> Program:
    command = [*processes.tied("TERM"), "env", f"SAFELIGHT_WORKER_SLOTS={slots}", sys.executable, "-m"]
    command += ["dramatiq", "actors", "--skip-logging", "--processes", "1", "--threads", str(slots)]
    command += ["--worker-shutdown-timeout", str(_GRACE_S * 1000), "--worker-fork-timeout", "5000"]
    return Program(name, [*command, *(["--queues", *queues] if queues else [])], stage=2)


def prepare(settings: Settings, home: Path) -> None:
    """Bring the database up to date and make sure that there is an admin key.

    Raises:
        EmbeddedError: the database doesn't answer.
    """
    try:
        upgrade(settings.database_url)
    except OperationalError as error:
        raise EmbeddedError(f"the database (SAFELIGHT_DATABASE_URL) doesn't answer: {error.orig}") from error
    with _telling("SAFELIGHT_REDIS_URL"):
        connect(settings.redis_url).ping()
    with _telling("SAFELIGHT_STORAGE_URL"):
        Store(settings.storage_url, StoreMetrics(CollectorRegistry(), operations=OPERATIONS)).check()
    key_file = home / "admin.key"
    keys = Keys(Database(settings.database_url, prepares=settings.prepares))
    if not key_file.exists() or keys.authenticate(key_file.read_text().strip()) is None:
        homes.write_private(key_file, keys.create("admin", ["admin"]) + "\n")


def sign_in_link(settings: Settings, home: Path) -> str:
    """A link into the console, with the rights of the admin key and for as long as that lives."""
    database = Database(settings.database_url, prepares=settings.prepares)
    key = Keys(database).authenticate((home / "admin.key").read_text().strip())
    if key is None:
        raise EmbeddedError(f"the key in {home / 'admin.key'} was revoked just now")
    link = Sessions(database).make_link(key.owner, key.scopes, key_id=key.id)
    database.close()
    return f"http://{settings.host}:{settings.port}/sign-in/{link}"


@contextmanager
def _telling(setting: str) -> Iterator[None]:
    """Say which setting leads nowhere."""
    try:
        yield
    except Exception as error:
        raise EmbeddedError(f"{setting} can't be used: {str(error).partition(chr(10))[0]}") from error


def main() -> int:
    """Run until a signal (exit status 0) or an error that a person must mend (1)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reload", action="store_true", help="reload the API and the worker on change")
    parser.add_argument("--restore", type=Path, metavar="FOLDER", help="fill an empty home from a backup")
    arguments = parser.parse_args()
    stop_on_signals()
    home = Path(os.environ.get("SAFELIGHT_HOME") or "var").expanduser().resolve()
    try:
        with homes.locked(home):
            if arguments.restore:
                return restore(home, arguments.restore.resolve())
            run(home, arguments.reload)
    except Stopped:
        say("Stopped.")
        return 0
    except (EmbeddedError, ConfigError) as error:
        print(f"Safelight stopped: {error}", file=sys.stderr)
    return 1


def run(home: Path, reload: bool) -> None:
    """Start everything in its order, then watch over it; whatever ends that, all of it is stopped."""
    supervisor.end_leftovers(home / "supervisor")
    stack = plan(home, reload)
    for server in (stack.postgres, stack.valkey, stack.prometheus):
        if server:
            server.prepare()
    supervised = Supervisor(home / "supervisor", home / "logs", stack.programs())
    try:
        supervised.launch(stack.environment, PROJECT)
        start(stack, supervised)
        settings = stack.settings
        say(f"Safelight is ready: http://{settings.host}:{settings.port}")
        say(f"Sign in, once within 10 minutes: {sign_in_link(settings, home)}")
        if stack.demo_port:  # nobody waits for it either: the worker finds it when it is there
            supervised.start(_DEMO)
            say(f"Analysis service of the example: {settings.analysis_url}")
        say(f"Metrics: http://{settings.monitoring_host}:{settings.monitoring_port}/metrics")
        if stack.prometheus:  # nobody waits for it: the service does without
            supervised.start("prometheus")
            say(f"Prometheus: {stack.prometheus.url}")
        say(f"Data, logs and admin.key are in {home}. Ctrl-C stops it.")
        watch(supervised, [program.name for program in stack.workers()], reload)
    finally:
        ignore_signals()  # a second Ctrl-C must not keep us from stopping the rest
        say("Stopping ...")
        supervised.stop()


def restore(home: Path, folder: Path) -> int:
    """Start PostgreSQL alone, and `flask restore` into it and the store; returns its exit status."""
    stack = plan(home, reload=False)
    if stack.postgres:
        stack.postgres.prepare()
    supervised = Supervisor(home / "supervisor", home / "logs", stack.programs())
    try:
        supervised.launch(stack.environment, PROJECT)
        if stack.postgres:
            supervised.start("postgres")
            supervised.until(stack.postgres.ready, "postgres", timeout_s=_SERVERS_S)
            stack.postgres.create_database(DATABASE)
        command = [sys.executable, "-m", "flask", "--app", "app", "restore", str(folder)]
        return subprocess.run(command, cwd=PROJECT, env=stack.environment, check=False).returncode  # noqa: S603
    finally:
        ignore_signals()
        supervised.stop()


def plan(home: Path, reload: bool) -> Stack:
    """Settle settings, servers and ports; nothing is started yet.

    Raises:
        ConfigError: a setting is wrong.
        EmbeddedError: a server's program is missing, or a port is taken.
    """
    by_user = {**homes.given(os.environ), "SAFELIGHT_HOME": str(home)}
    environment = dict(by_user)
    postgres = valkey = None
    if not environment.get("SAFELIGHT_DATABASE_URL"):
        postgres = Postgres(home / "postgres", find_programs(home / "postgres" / "data"), server_account())
        environment["SAFELIGHT_DATABASE_URL"] = postgres.url(DATABASE)
    if not environment.get("SAFELIGHT_REDIS_URL"):
        valkey = Valkey(home / "valkey", find_program())
        environment["SAFELIGHT_REDIS_URL"] = valkey.url()
    if not environment.get("SAFELIGHT_STORAGE_URL"):
        (home / "store").mkdir(mode=0o700, exist_ok=True)
        environment["SAFELIGHT_STORAGE_URL"] = (home / "store").as_uri()
    demo_port = None
    if environment.get("SAFELIGHT_ANALYSIS_URL") == "demo":
        demo_port = ports.any_free_port()
        environment["SAFELIGHT_ANALYSIS_URL"] = f"http://127.0.0.1:{demo_port}/operations"
    port = Settings.from_environment(environment).port
    environment["SAFELIGHT_PORT"] = str(ports.wanted_port("SAFELIGHT_PORT", port))
    if not environment.get("SAFELIGHT_MONITORING_PORT"):
        environment["SAFELIGHT_MONITORING_PORT"] = str(ports.port_near(port + 1))
    settings = Settings.from_environment(environment)
    ports.wanted_port("SAFELIGHT_MONITORING_PORT", settings.monitoring_port)
    prometheus = plan_prometheus(home, environment, settings)
    homes.write_environment(home / "env", environment, by_user)
    return Stack(home, environment, settings, postgres, valkey, prometheus, reload, demo_port)


def plan_prometheus(home: Path, environment: dict[str, str], settings: Settings) -> Prometheus | None:
    """Prometheus over this instance; None where it isn't installed, or can't listen, which is told."""
    if (program := find_prometheus()) is None:
        return None
    own = (settings.port, settings.monitoring_port)
    try:
        port = usable_port(environment.get(SETTING, "").strip(), settings.monitoring_port + 1, taken=own)
    except EmbeddedError as error:
        say(f"Prometheus isn't started: {error}")
        return None
    environment[SETTING] = str(port)
    environment.setdefault("SAFELIGHT_PROMETHEUS_URL", f"http://127.0.0.1:{port}")
    host = "127.0.0.1" if settings.monitoring_host == "0.0.0.0" else settings.monitoring_host  # noqa: S104
    links = {
        "grafana": settings.grafana_url or _GRAFANA,
        "console": f"http://{'localhost' if settings.host == '0.0.0.0' else settings.host}:{settings.port}",  # noqa: S104
        "runbooks": (PROJECT / "docs" / "runbooks").as_uri(),
    }
    rules = PROJECT / "observability" / "prometheus" / "rules"
    monitoring = f"{host}:{settings.monitoring_port}"
    return Prometheus(home / "prometheus", program, port, monitoring, rules, links)


def start(stack: Stack, supervised: Supervisor) -> None:
    """Start the servers, prepare the database, then start the API and the worker."""
    servers: dict[str, Callable[[], bool]] = {}
    if stack.postgres:
        servers["postgres"] = stack.postgres.ready
    if stack.valkey:
        servers["valkey"] = stack.valkey.ready
    supervised.start(*servers)
    for name, ready in servers.items():
        supervised.until(ready, name, timeout_s=_SERVERS_S)
    if stack.postgres:
        stack.postgres.create_database(DATABASE)
    prepare(stack.settings, stack.home)
    service = ["api", *(program.name for program in stack.workers())]
    supervised.start(*service)
    host, port = stack.settings.host, stack.settings.port
    supervised.until(lambda: ports.answers(port, "/readyz", host=host), *service, timeout_s=_READY_S)


def watch(supervised: Supervisor, workers: Sequence[str], reload: bool) -> None:
    """Tell of crashes, and restart the workers on change, for as long as supervisord lives.

    Dramatiq's own reload would lose the virtual environment. gunicorn's is good: the API has that.
    """
    crashes = Crashes(supervised)
    changes = None
    if reload:
        from embedded.reload import Changes  # needs watchdog, which `make run` doesn't install

        changes = Changes(PROJECT)
    while supervised.alive():
        time.sleep(1)
        for line in crashes.look():
            say(line)
        if changes and changes.take():
            say("Sources changed: restarting the worker.")
            for worker in workers:
                crashes.restart(worker)
    raise EmbeddedError("supervisord ended")


def say(line: str) -> None:
    """Print a line, if anyone is there still (the terminal may be gone)."""
    with suppress(OSError):
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
