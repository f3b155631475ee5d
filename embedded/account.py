"""The account that PostgreSQL runs as, since it refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from embedded.errors import EmbeddedError

# Lets the account pass folders of root's own, such as /root (mode 0700), on the way to the project. Without
# the secure bit access(2), by which PostgreSQL looks at its own program, would ignore it (capabilities(7)).
_PASS_FOLDERS = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"]


@dataclass(frozen=True)
class Account:
    """A system user to run a server as; `None` stands for the one that runs this process."""

    name: str
    uid: int
    gid: int

    @property
    def owner(self) -> tuple[int, int]:
        return self.uid, self.gid

    def prefix(self, program: Path, folder: Path) -> list[str]:
        """The command prefix under which `program` runs as this account and reaches its `folder`.

        Raises:
            EmbeddedError: it can't, whichever way.
        """
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise EmbeddedError("PostgreSQL can't run as root, and setpriv (of util-linux) isn't installed")
        plain = [setpriv, f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]
        for prefix in (plain, plain + _PASS_FOLDERS):
            if _reaches(prefix, program, folder):
                return prefix
        raise EmbeddedError(
            f"PostgreSQL can't run as root, and as user {self.name} it can't reach {program} or {folder}: "
            "run as another user, or put the project and SAFELIGHT_HOME where that user may go"
        )


def server_account() -> Account | None:
    """Whom servers run as: root's stand-in (`postgres` where there is one, else `nobody`), or ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        "PostgreSQL can't run as root, and there is neither a user postgres nor a user nobody"
    )


def _reaches(prefix: list[str], program: Path, folder: Path) -> bool:
    script = 'cd "$1" && : > .reach && rm .reach && "$2" --version'
    probe = [*prefix, "sh", "-c", script, "sh", str(folder), str(program)]
    return subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode == 0
