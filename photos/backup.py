"""Database and store as a folder, and back: `objects/` has each object once, for they never change; beside it
stands a folder of rows for each backup that was made.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TypeVar

from prometheus_client import CollectorRegistry

from db.dump import Dump, dump, loaded
from db.migrate import upgrade
from db.session import Database
from observability.metrics import StoreMetrics
from photos.upkeep import STILL_NAMED, Named, named, named_by
from storage.errors import ObjectMissing, StoreAway
from storage.store import OPERATIONS, Store

Item = TypeVar("Item")

_COPIES_AT_ONCE = 8
_BATCH = 500
_MANIFEST = "manifest.json"
_UNFINISHED = ".unfinished"


class NoBackup(Exception):
    """There is no whole backup of that name."""


class NotWritten(Exception):
    """An object's copy can't be written: a full disk, say."""


@dataclass(frozen=True)
class Done:
    """What was backed up, or restored.

    Attributes:
        name: of the backup's folder.
        rows: by name of a table.
        copied: objects that weren't there yet.
        bad: objects that are missing, or whose bytes aren't those that were stored.
    """

    name: str
    rows: dict[str, int]
    copied: int
    bad: list[str]


class Backup:
    """Makes and restores backups."""

    def __init__(self, database: Database, database_url: str, store: Store) -> None:
        self._database = database
        self._url = database_url
        self._store = store

    def make(self, folder: Path, *, thorough: bool = False) -> Done:
        """Add a backup to a folder, while the service runs.

        Objects go first and those that came meanwhile last, so that no row is there without its objects: but
        those of what came and went within that time. A folder that is made is for its owner alone.

        Args:
            thorough: read again what is there from backups before, and mend it.

        Raises:
            DatabaseAway, StoreAway, NotWritten
            OSError: the folder can't be written to, or another backup is being made there.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            return self._make(folder, thorough)

    def _make(self, folder: Path, thorough: bool) -> Done:
        rows = folder / _UNFINISHED
        shutil.rmtree(rows, ignore_errors=True)
        rows.mkdir()
        kept = _objects(folder)
        copied, _ = _copy_all(self._store, kept, named(self._database), thorough=thorough)
        dumped = dump(self._url, rows)
        late, bad = _copy_all(self._store, kept, named(self._database))
        name = datetime.now(UTC).isoformat(timespec="milliseconds").replace(":", "-").replace("+00-00", "Z")
        (rows / _MANIFEST).write_text(json.dumps(asdict(dumped), indent=1) + "\n")
        _sync(rows)
        rows.rename(folder / name)
        _sync(folder)
        return Done(name, dumped.rows, copied + late, list(self._still_named(bad)))

    def _still_named(self, keys: Iterable[str]) -> Iterator[str]:
        """Those that weren't deleted, or made anew, while they were copied."""
        for key in keys:
            with self._database.statement() as tx:
                if tx.execute(STILL_NAMED, {"key": key}).scalar_one():
                    yield key

    def restore(self, folder: Path, name: str | None = None) -> Done:
        """Fill an empty database, and the store with what the rows name; nothing else may run meanwhile.

        Objects that are in the store already are read, and replaced only where they are damaged. The rows are
        kept when all is there: interrupted, it can be run again.

        Args:
            name: of the backup, by default the newest.

        Raises:
            NoBackup
            NotEmpty: the database has rows; they would be mixed.
            Damaged, DatabaseAway, StoreAway, NotWritten
        """
        found = backups(folder)
        if not found or (name is not None and name not in found):
            raise NoBackup(f"there is no backup {name or ''} in {folder}".replace("  ", " "))
        name = name or found[-1]
        dumped = Dump(**json.loads((folder / name / _MANIFEST).read_text()))
        with loaded(self._url, folder / name, dumped) as connection:
            objects = named_by(lambda query: connection.execute(query).all())
            copied, bad = _copy_all(_objects(folder), self._store, objects, thorough=True)
        upgrade(self._url)
        return Done(name, dumped.rows, copied, bad)


def _copy_all(
    source: Store, target: Store, objects: Iterable[Named], *, thorough: bool = False
) -> tuple[int, list[str]]:
    """Copy what isn't there: how many objects, and those that couldn't be."""
    bad: list[str] = []

    def copy(each: Named) -> bool:
        if _is_there(target, each, thorough=thorough):
            return False
        try:
            _copy(source, target, each)
        except (ObjectMissing, _Damaged):
            bad.append(each.key)
            return False
        return True

    return sum(_at_once(copy, objects)), bad


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OSError("another backup is being made there") from error
        yield


class _Damaged(Exception):
    """An object's bytes aren't those that were stored."""


def backups(folder: Path) -> list[str]:
    """The names of the whole backups in a folder, the oldest first."""
    return sorted(path.parent.name for path in folder.glob(f"[0-9]*/{_MANIFEST}"))


def _is_there(store: Store, each: Named, *, thorough: bool) -> bool:
    if store.size_bytes(each.key) != each.size_bytes:
        return False
    if not thorough:
        return True
    digest = hashlib.sha256()
    for chunk in store.chunks(each.key):
        digest.update(chunk)
    return digest.digest() == each.sha256


def _copy(source: Store, target: Store, each: Named) -> None:
    """Raises ObjectMissing, StoreAway (of the source), NotWritten, _Damaged: nothing is written then."""
    chunks, digest = source.chunks(each.key), hashlib.sha256()
    writer = target.writer(each.key)
    try:
        for chunk in chunks:
            digest.update(chunk)
            with _writing(each.key):
                writer.write(chunk)
        if digest.digest() != each.sha256:
            raise _Damaged(each.key)
    except BaseException:
        writer.abort()
        raise
    with _writing(each.key):
        writer.close()


@contextmanager
def _writing(key: str) -> Iterator[None]:
    try:
        yield
    except StoreAway as error:
        raise NotWritten(f"{key}: {error}") from error


def _at_once(work: Callable[[Item], bool], items: Iterable[Item]) -> Iterator[bool]:
    """What `work` says of each item, some at a time; all of them are never in memory."""
    with ThreadPoolExecutor(_COPIES_AT_ONCE) as pool:
        left = iter(items)
        while batch := list(islice(left, _BATCH)):
            yield from pool.map(work, batch)


def _objects(folder: Path) -> Store:
    path = folder.resolve() / "objects"
    return Store(path.as_uri(), StoreMetrics(CollectorRegistry(), operations=OPERATIONS))


def _sync(folder: Path) -> None:
    """Make a folder's files durable, and their names."""
    for path in (*(path for path in folder.iterdir() if path.is_file()), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
