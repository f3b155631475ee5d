"""A local folder as a store: plain calls in the caller's thread, durable when they return."""

from __future__ import annotations

import os
import shutil
import time
from io import FileIO
from pathlib import Path
from uuid import uuid4


class Folder:
    """The folder of a local store. Where it is missing its disk isn't mounted: it isn't made again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._durable: set[Path] = set()

    def path_of(self, key: str) -> Path:
        """Where an object is, or is to be.

        Raises:
            ValueError: the key leads elsewhere, or looks like an unfinished upload's.
        """
        if key.startswith("/") or "#" in key or ".." in key.split("/"):
            raise ValueError(f"{key!r} can't be a key")
        return self.path / key

    def writer(self, key: str) -> FolderWriter:
        """Begin a new object."""
        return FolderWriter(self, self.path_of(key))

    def put(self, key: str, data: bytes, *, media_type: str | None) -> None:
        """Store one whole object; a file has no media type."""
        writer = self.writer(key)
        try:
            writer.write(data)
            writer.close()
        finally:
            writer.abort()

    def unfinished(self, path: Path) -> FileIO:
        """A new file beside an object's place, with a name that the sweep knows."""
        beside = path.with_name(f"{path.name}#{uuid4().int}")
        try:
            return beside.open("xb", buffering=0)
        except FileNotFoundError:
            self._durable.discard(path.parent)
            for folder in reversed(self._above(path)[:-1]):
                folder.mkdir(exist_ok=True)
            return beside.open("xb", buffering=0)

    def sync(self, path: Path) -> None:
        """Make an object's name durable: fsync the folder that has it, and those above if it may be new."""
        if path.parent in self._durable:
            _fsync(path.parent)
            return
        for folder in self._above(path):
            _fsync(folder)
        self._durable.add(path.parent)

    def _above(self, path: Path) -> list[Path]:
        """The folders that an object is in, the store's own last."""
        folders = list(path.parents)
        return folders[: folders.index(self.path) + 1]

    def remove_unfinished(self, *, older_than_s: float) -> int:
        """Remove what killed processes left of their uploads (`key#1`)."""
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


class FolderWriter:
    """Writes an object into a file beside its place (`key#1`), which is there from the first bytes on.

    An object that has that key already is replaced at once and whole.
    """

    def __init__(self, folder: Folder, path: Path) -> None:
        self._folder = folder
        self._path = path
        self._file: FileIO | None = None

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        descriptor = self._open().fileno()
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]

    def close(self) -> None:
        """Make the bytes durable, then visible, then their name durable; or leave no unfinished file."""
        try:
            with self._open() as file:
                os.fsync(file.fileno())
                Path(file.name).rename(self._path)
            self._file = None
        finally:
            self.abort()
        self._folder.sync(self._path)

    def abort(self) -> None:
        """Leave nothing behind, unless it is closed."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            Path(file.name).unlink(missing_ok=True)

    def _open(self) -> FileIO:
        if self._file is None:
            self._file = self._folder.unfinished(self._path)
        return self._file


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
