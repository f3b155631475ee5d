"""One run at a time in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from embedded.errors import EmbeddedError
from embedded.home import given, locked, write_environment


def test_a_second_run_in_the_same_folder_is_a_clear_error(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(EmbeddedError, match=r"runs in .* already"), locked(tmp_path):
        pass


def test_a_stale_lock_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\n")
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedError, match="SAFELIGHT_HOME"), locked(tmp_path / "file" / "home"):
        pass


def test_the_environment_can_be_sourced_by_a_shell_and_read_by_its_owner_only(tmp_path: Path) -> None:
    script = tmp_path / "env"
    environment = {"SAFELIGHT_DATABASE_URL": "postgresql://it's $HOME", "PATH": "/nowhere"}
    write_environment(script, environment, {})
    assert script.stat().st_mode & 0o777 == 0o600
    told = subprocess.run(
        ["sh", "-c", '. "$1"; echo "$SAFELIGHT_DATABASE_URL"', "sh", str(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "postgresql://it's $HOME\n"
    assert "/nowhere" not in script.read_text()


def test_what_a_run_chose_itself_is_not_given_to_the_next_by_a_shell_that_sourced_it(tmp_path: Path) -> None:
    by_user = {"SAFELIGHT_PORT": "8300"}
    write_environment(
        tmp_path / "env", {**by_user, "SAFELIGHT_REDIS_URL": "unix:///a b", "SAFELIGHT_X": "1"}, by_user
    )
    told = subprocess.run(
        ["sh", "-c", '. "$1"; SAFELIGHT_X=2 env -0', "sh", str(tmp_path / "env")],
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    pairs = (pair.partition("=") for pair in told.stdout.decode().split("\0") if pair)
    left = given({name: value for name, _, value in pairs if name.startswith("SAFELIGHT_")})
    assert left == {"SAFELIGHT_PORT": "8300", "SAFELIGHT_X": "2"}
