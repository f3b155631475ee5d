"""PostgreSQL in a folder, on a private Unix socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg2
from psycopg2 import errors, sql

from embedded import processes
from embedded.account import Account
from embedded.errors import EmbeddedError
from embedded.folders import private_folder, socket_folder
from embedded.postgres_programs import PostgresPrograms

USER = "safelight"
_PORT = 5432  # only a part of the socket's name; PGPORT in the environment must not change it
_LONGEST_NAME = f".s.PGSQL.{_PORT}.lock"
_FAST_SHUTDOWN = signal.SIGINT


@dataclass(frozen=True)
class Postgres:
    """A server of our own. Its one role, `safelight`, is a superuser.

    Nothing but the socket's folder, which is private to the account, keeps others out.

    Args:
        folder: absolute; holds the data and the socket.
        account: whom it runs as when that isn't ourselves.
        options: configuration parameters beside the defaults.
    """

    folder: Path
    programs: PostgresPrograms
    account: Account | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str) -> str:
        """The libpq and SQLAlchemy URL of a database of this server."""
        return f"postgresql://{USER}@:{_PORT}/{quote(database, safe='')}?host={quote(str(self._socket()))}"

    def prepare(self) -> None:
        """Make the data folder if there is none; end a server that a killed run left in it.

        Raises:
            EmbeddedError: the folder can't be made, or the account can't reach it.
        """
        private_folder(self.folder, owner=self._owner())
        self._socket()
        if (self.data / "PG_VERSION").exists():
            self.stop()
        else:
            self._make_data()

    def command(self) -> list[str]:
        """The command line that runs the server in the foreground; call `prepare` first."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._socket()),
            "port": str(_PORT),
            **self.options,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [*self._prefix(_FAST_SHUTDOWN), str(self.programs.postgres), "-D", str(self.data), *options]

    def ready(self) -> bool:
        """Whether it takes connections."""
        try:
            psycopg2.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg2.OperationalError:
            return False
        return True

    def create_database(self, name: str) -> None:
        """Make a database unless it is there."""
        connection = psycopg2.connect(self.url("postgres"))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except errors.DuplicateDatabase:
            pass
        finally:
            connection.close()

    def stop(self, *, grace_s: float = 10.0) -> None:
        """End the server that runs on this data, if there is one, and clear its stale pid file."""
        record = self.data / "postmaster.pid"
        try:
            pid = int(record.read_text().split("\n")[0])
        except (FileNotFoundError, ValueError):
            return
        if str(self.data) in processes.command_line(pid):
            processes.end([pid], _FAST_SHUTDOWN, grace_s=grace_s)
        # Whatever has that number now isn't our server, but PostgreSQL would take it for one and refuse to
        # start. Orphaned backends still keep a new server out, by their shared memory.
        record.unlink(missing_ok=True)

    def _make_data(self) -> None:
        # Under another name until it is whole, so that an interrupted initdb is no obstacle.
        unfinished = self.folder / "data.unfinished"
        attempt = None
        for locale in ("C.UTF-8", "C"):  # the second where the machine lacks the first
            shutil.rmtree(unfinished, ignore_errors=True)
            attempt = self._initdb(unfinished, locale)
            if attempt.returncode == 0:
                unfinished.rename(self.data)
                return
        raise EmbeddedError(f"PostgreSQL's initdb failed:\n{attempt.stderr.strip() if attempt else ''}")

    def _initdb(self, data: Path, locale: str) -> subprocess.CompletedProcess[str]:
        options = ["--encoding=UTF8", f"--locale={locale}", "--auth=trust", "--data-checksums"]
        command = [str(self.programs.initdb), "-D", str(data), "-U", USER, *options]
        return subprocess.run(
            [*self._prefix(signal.SIGTERM), *command], cwd="/", capture_output=True, text=True, check=False
        )

    def _prefix(self, when_orphaned: signal.Signals) -> list[str]:
        tied = processes.tied(when_orphaned.name.removeprefix("SIG"))
        # tied last: a change of user clears it
        return [*(self.account.prefix(self.programs.postgres, self.folder) if self.account else []), *tied]

    def _socket(self) -> Path:
        return socket_folder(self.folder / "run", _LONGEST_NAME, owner=self._owner())

    def _owner(self) -> tuple[int, int]:
        return self.account.owner if self.account else (os.geteuid(), os.getegid())
