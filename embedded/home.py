"""One run at a time in a folder, and the environment it writes down there."""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from embedded.errors import EmbeddedError


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold a folder, made if need be, for this process. The lock ends with it, however it ends.

    Raises:
        EmbeddedError: another process holds it, or it can't be made.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        handle = (home / "lock").open("a+")
    except OSError as error:
        raise EmbeddedError(f"SAFELIGHT_HOME={home} can't be used: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise EmbeddedError(
                f"Safelight runs in {home} already (process {handle.read().strip()}): stop it, or give this "
                "one a SAFELIGHT_HOME and SAFELIGHT_PORT of its own"
            ) from None
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        yield


_OWN = "SAFELIGHT_OWN"


def given(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what a run chose itself, and a shell that sourced its file handed on."""
    left = dict(environment)
    for pair in shlex.split(left.pop(_OWN, "")):
        name, _, value = pair.partition("=")
        if left.get(name) == value:
            del left[name]
    return left


def write_environment(path: Path, environment: Mapping[str, str], by_user: Mapping[str, str]) -> None:
    """Write Safelight's settings as a script that a shell can source; they may hold passwords: mode 0600.

    Args:
        by_user: those that were given; the rest the run chose itself, and may choose otherwise next time.
    """
    settings = {name: value for name, value in environment.items() if name.startswith("SAFELIGHT_")}
    own = [f"{name}={value}" for name, value in sorted(settings.items()) if by_user.get(name) != value]
    settings[_OWN] = shlex.join(own)
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(settings.items())]
    write_private(path, "".join(lines))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads (mode 0600), whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text)
    unfinished.replace(path)
