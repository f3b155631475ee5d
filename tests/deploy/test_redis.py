"""Given the stack's command for Redis, when it is run, then it keeps all, for those with the password."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from embedded import processes
from embedded.valkey import find_program
from tests.deploy.compose import SERVICES

PASSWORD = "of-this-test"


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command, with the programs of its image as this machine has them, on a socket instead of a port."""
    programs = {
        "docker-entrypoint.sh": 'exec "$@"',
        "valkey-server": f'exec {find_program()} "$@" --port 0 --unixsocket {folder}/socket --dir {folder}',
    }
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    process = subprocess.Popen(
        [part.replace("$$", "$") for part in SERVICES["redis"]["command"]],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "REDISCLI_AUTH": PASSWORD},
        stdout=subprocess.DEVNULL,
    )
    try:
        assert processes.settles((folder / "socket").exists, timeout_s=15)
        yield process
    finally:
        process.terminate()
        assert process.wait(15) == 0


def test_redis_keeps_what_it_is_given(server: subprocess.Popen[bytes], folder: Path) -> None:
    with redis.Redis(unix_socket_path=f"{folder}/socket", password=PASSWORD) as client:
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_its_password_is_asked_for_and_in_no_list_of_processes(
    server: subprocess.Popen[bytes], folder: Path
) -> None:
    assert PASSWORD not in " ".join(processes.command_line(server.pid))
    with (
        redis.Redis(unix_socket_path=f"{folder}/socket") as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()
