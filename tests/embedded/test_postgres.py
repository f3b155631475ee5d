"""The embedded PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from sqlalchemy.engine import make_url

from embedded import processes
from embedded.account import Account, server_account
from embedded.errors import EmbeddedError
from embedded.postgres import Postgres
from embedded.postgres_programs import candidate_folders, find_programs
from tests.servers import running


@pytest.fixture
def postgres(folder: Path) -> Postgres:
    return Postgres(folder / "postgres", find_programs(folder), server_account())


@contextmanager
def started(server: Postgres) -> Iterator[int]:
    server.prepare()
    with running(server.command()) as pid:
        assert processes.settles(server.ready, timeout_s=60)
        yield pid


def ask(server: Postgres, question: str, database: str = "postgres") -> Any:
    with closing(psycopg2.connect(server.url(database))) as connection, connection.cursor() as cursor:
        cursor.execute(question)
        row = cursor.fetchone()
        assert row is not None
        return row[0]


def test_it_keeps_its_data_and_is_careful_with_it(postgres: Postgres) -> None:
    for _ in range(2):  # the second time it is there already
        with started(postgres):
            postgres.create_database("photos")
            assert ask(postgres, "SELECT current_database()", "photos") == "photos"
            for setting, value in {
                "fsync": "on",
                "full_page_writes": "on",
                "synchronous_commit": "on",
                "data_checksums": "on",
                "server_encoding": "UTF8",
            }.items():
                assert ask(postgres, f"SHOW {setting}") == value


def test_it_listens_on_a_private_socket_only(postgres: Postgres) -> None:
    with started(postgres):
        assert ask(postgres, "SHOW listen_addresses") == ""
        run = postgres.folder / "run"
        assert (run / ".s.PGSQL.5432").is_socket()
        assert run.stat().st_mode & 0o077 == 0


def test_its_url_means_the_same_to_sqlalchemy(postgres: Postgres) -> None:
    url = make_url(postgres.url("photos"))
    assert (url.username, url.database, url.port) == ("safelight", "photos", 5432)
    assert url.query["host"] == str(postgres.folder / "run")


def test_a_path_too_long_for_a_socket_is_no_obstacle(postgres: Postgres) -> None:
    far = replace(postgres, folder=postgres.folder / ("x" * 100))
    postgres.folder.mkdir()
    socket_folder = Path(make_url(far.url("postgres")).query["host"])  # type: ignore[arg-type]
    try:
        assert socket_folder.parent == Path(tempfile.gettempdir())
        with started(far):
            assert ask(far, "SELECT 1") == 1
    finally:
        shutil.rmtree(socket_folder)


def test_an_interrupted_initdb_is_no_obstacle(postgres: Postgres) -> None:
    half = postgres.folder / "data.unfinished"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("15\n")
    with started(postgres):
        assert ask(postgres, "SELECT 1") == 1


def test_a_server_left_running_is_ended_and_its_data_kept(postgres: Postgres) -> None:
    with started(postgres) as left:
        postgres.create_database("photos")
        with started(postgres) as pid:
            assert pid != left
            assert not processes.alive(left)
            assert ask(postgres, "SELECT current_database()", "photos") == "photos"


def test_a_stale_pid_file_that_names_a_living_process_is_no_obstacle(postgres: Postgres) -> None:
    with started(postgres) as pid:
        os.kill(pid, signal.SIGKILL)
        assert processes.settles(lambda: not processes.alive(pid), timeout_s=10)
    record = postgres.data / "postmaster.pid"
    record.write_text(record.read_text().replace(str(pid), str(os.getpid()), 1))
    with started(postgres):
        assert ask(postgres, "SELECT 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
def test_as_root_it_runs_as_another_user_below_a_folder_of_roots_own(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    account = server_account()
    assert isinstance(account, Account)
    with started(Postgres(folder / "postgres", find_programs(folder), account)) as pid:
        assert Path(f"/proc/{pid}").stat().st_uid == account.uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
def test_a_user_that_cannot_run_it_is_a_clear_error(folder: Path) -> None:
    account = server_account()
    assert account is not None
    with pytest.raises(EmbeddedError, match="can't reach"):
        account.prefix(folder / "no-such-program", folder)


def test_it_ends_with_the_process_that_started_it(postgres: Postgres) -> None:
    postgres.prepare()
    script = (
        "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=2).pid, flush=True); input()"
    )
    parent = subprocess.Popen(
        ["python3", "-c", script, *postgres.command()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert processes.settles(postgres.ready, timeout_s=60)
        parent.kill()
    assert processes.settles(lambda: not processes.alive(pid), timeout_s=10)


def test_data_of_another_major_version_is_a_clear_error(folder: Path) -> None:
    data = folder / "data"
    data.mkdir()
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 9, .*pg_dumpall"):
        find_programs(data)


def test_the_programs_that_made_the_data_are_preferred(folder: Path) -> None:
    found = {programs.major: programs for programs in map(_programs, candidate_folders()) if programs}
    if len(found) < 2:
        pytest.skip("one version of PostgreSQL only is installed")
    for major, programs in found.items():
        data = folder / str(major)
        data.mkdir()
        (data / "PG_VERSION").write_text(f"{major}\n")
        assert find_programs(data).major == programs.major


def test_no_postgresql_at_all_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(EmbeddedError, match="SAFELIGHT_DATABASE_URL"):
        find_programs(folder, candidates=[folder])


def test_the_wheels_programs_work(folder: Path) -> None:
    wheel = candidate_folders()[-1]
    assert "site-packages" in wheel.parts  # the lock installs one for every Python
    server = Postgres(folder / "postgres", find_programs(folder, [wheel]), server_account())
    with started(server):
        assert ask(server, "SHOW server_encoding") == "UTF8"


def _programs(candidate: Path) -> Any:
    try:
        return find_programs(candidate / "no-data", [candidate])
    except EmbeddedError:
        return None
