"""What obstore's local store leaves to do: durability, and the remains of killed uploads."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path


class Folder:
    """The folder of a local store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._durable: set[Path] = set()

    def sync(self, key: str) -> None:
        """fsync an object, the folder that names it, and those above if that folder may be new."""
        path = self.path / key
        _fsync(path)
        _fsync(path.parent)
        if path.parent not in self._durable:
            for folder in path.parent.parents:
                _fsync(folder)
                if folder == self.path:
                    break
            self._durable.add(path.parent)

    def remove_unfinished(self, *, older_than_s: float) -> int:
        """Remove what killed processes left of their uploads (`key#1`, as obstore names them)."""
        before_s = time.time() - older_than_s
        removed = 0
        for path in self.path.rglob("*#*"):
            try:
                if path.stat().st_mtime < before_s:
                    path.unlink()
                    removed += 1
            except FileNotFoundError:
                continue  # finished meanwhile
        return removed

    def free_bytes(self) -> int:
        """Room left on the disk."""
        return shutil.disk_usage(self.path).free


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
