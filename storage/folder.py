"""A local folder as a store: plain calls in the caller's thread, durable when they return."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from io import FileIO
from itertools import islice
from pathlib import Path
from uuid import uuid4

from storage.errors import Errors

CHUNK_BYTES = 1024 * 1024
_BATCH = 1000


class Folder:
    """The folder of a local store, made if it isn't there; if it is gone later its disk isn't mounted."""

    errors: Errors = (OSError,)

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
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

    def get(self, key: str) -> bytes:
        """One whole object."""
        return self.path_of(key).read_bytes()

    def chunks(self, key: str, part: tuple[int, int] | None) -> Iterator[bytes]:
        """An object's bytes, or those from a first one to an end; it is opened at once."""
        first, end = part or (0, sys.maxsize)
        file = self.path_of(key).open("rb", buffering=0)
        file.seek(first)
        return _read(file, end - first)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self.path_of(key).unlink()

    def size_bytes(self, key: str) -> int:
        """An object's size."""
        return self.path_of(key).stat().st_size

    def keys(self, prefix: str, *, older_than_s: float) -> Iterator[list[str]]:
        """Keys of the objects under `prefix` that were written that long ago, in batches."""
        root, before_s = f"{self.path}/", time.time() - older_than_s
        objects = (entry for entry in _files(self.path / prefix) if "#" not in entry.name)
        keys = (entry.path.removeprefix(root) for entry in objects if _is_older(entry, before_s))
        while batch := list(islice(keys, _BATCH)):
            yield batch

    def remove_unfinished(self, *, older_than_s: float) -> int:
        """Remove what killed processes left of their uploads (`key#1`)."""
        before_s = time.time() - older_than_s
        unfinished = (entry for entry in _files(self.path) if "#" in entry.name)
        left = [entry.path for entry in unfinished if _is_older(entry, before_s)]
        for path in left:
            Path(path).unlink(missing_ok=True)
        return len(left)

    def check(self) -> None:
        """Raises NotADirectoryError: the folder is gone."""
        if not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} isn't there")

    def free_bytes(self) -> int:
        """Room left on the disk."""
        return shutil.disk_usage(self.path).free

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
            try:
                file.close()
            finally:
                Path(file.name).unlink(missing_ok=True)

    def _open(self) -> FileIO:
        if self._file is None:
            self._file = self._folder.unfinished(self._path)
        return self._file


def _read(file: FileIO, size_bytes: int) -> Iterator[bytes]:
    with file:
        while chunk := file.read(min(size_bytes, CHUNK_BYTES)):
            size_bytes -= len(chunk)
            yield chunk


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """The files in a folder and below it, if it is there."""
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry


def _is_older(entry: os.DirEntry[str], before_s: float) -> bool:
    try:
        return entry.stat().st_mtime < before_s
    except FileNotFoundError:  # deleted or finished meanwhile
        return False


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
