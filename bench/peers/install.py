"""Installs the peers under build/peers/, by npm and by pip, in the exact versions that they name."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PEERS = Path(__file__).parent
_BUILD = _PEERS.parent.parent / "build" / "peers"
SCHEMA = _PEERS / "schema.sql"


class InstallError(Exception):
    """A peer can't be had here; it says what is missing."""


def node() -> Path:
    """The folder of the Node peer, installed.

    Raises:
        InstallError: there is no Node 20.9 or later with its npm, or npm failed.
    """
    if not (npm := shutil.which("npm")):
        raise InstallError("Node 20.9 or later isn't there, or its npm: see https://nodejs.org/en/download")
    install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    return _installed("node", "package.json", [install])


def celery() -> Path:
    """The folder of the Celery peer, with a virtual environment `venv` of its own.

    Raises:
        InstallError: pip failed.
    """
    make = [sys.executable, "-m", "venv", "--clear", "venv"]
    pip = ["venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return _installed("celery", "requirements.txt", [make, [*pip, "-r", "requirements.txt"]])


def _installed(name: str, requirements: str, commands: Sequence[Sequence[str]]) -> Path:
    """Copy a peer's files, and install what it requires unless that is there already."""
    home = _BUILD / name
    home.mkdir(parents=True, exist_ok=True)
    for path in (_PEERS / name).iterdir():
        if path.is_file():
            shutil.copy(path, home)
    wanted = hashlib.sha256((home / requirements).read_bytes()).hexdigest()
    stamp = home / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return home
    for command in commands:
        print(f"{name}: {' '.join(command)}", file=sys.stderr)
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InstallError(f"{name}: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    stamp.write_text(wanted)
    return home
