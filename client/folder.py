"""A folder's files in a fixed order, and their hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """A file that may be a photo."""

    path: Path
    size_bytes: int


@dataclass(frozen=True)
class Unreadable:
    """What can't be looked at, and why."""

    path: Path
    reason: str


def walk(places: Iterable[Path]) -> Iterator[Found | Unreadable]:
    """All files of folders and below, by name; hidden ones and links to folders are passed over; links
    to files are followed.

    A place that is a file stands for itself.
    """
    for place in places:
        if place.is_file():
            yield _found(place)
            continue
        errors: list[OSError] = []
        for folder, names, files in os.walk(place, onerror=errors.append):
            names[:] = sorted(name for name in names if not name.startswith("."))
            for name in sorted(files):
                path = Path(folder) / name
                if not name.startswith(".") and (path.is_file() or not path.exists()):
                    yield _found(path)
            while errors:
                yield _unreadable(errors.pop())
        while errors:
            yield _unreadable(errors.pop())


def sha256_of(path: Path) -> bytes:
    """Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _found(path: Path) -> Found | Unreadable:
    try:
        return Found(path, path.stat().st_size)
    except OSError as error:
        return Unreadable(path, error.strerror or str(error))


def _unreadable(error: OSError) -> Unreadable:
    return Unreadable(Path(error.filename), error.strerror or str(error))
