"""One run at a time in a folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from embedded.errors import EmbeddedError
from embedded.home import locked, write_environment


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
    write_environment(script, {"SAFELIGHT_DATABASE_URL": "postgresql://it's $HOME", "PATH": "/nowhere"})
    assert script.stat().st_mode & 0o777 == 0o600
    told = subprocess.run(
        ["sh", "-c", '. "$1"; echo "$SAFELIGHT_DATABASE_URL"', "sh", str(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "postgresql://it's $HOME\n"
    assert "/nowhere" not in script.read_text()
