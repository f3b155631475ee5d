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

from db.dump import Dump, dump, load
from db.session import Database
from observability.metrics import StoreMetrics
from photos.upkeep import PREFIXES, Named, named
from storage.errors import ObjectMissing
from storage.store import OPERATIONS, Store

Item = TypeVar("Item")

_COPIES_AT_ONCE = 8
_BATCH = 500
_MANIFEST = "manifest.json"
_UNFINISHED = ".unfinished"


class NoBackup(Exception):
    """There is no whole backup of that name."""


@dataclass(frozen=True)
class Made:
    """What a backup holds.

    Attributes:
        name: of its folder.
        copied: objects that weren't in the backup's folder yet.
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

    def make(self, folder: Path) -> Made:
        """Add a backup to a folder, while the service runs.

        Objects go first and those that came meanwhile last, so that no row is there without its objects: but
        those of a photo that came and was deleted within that time.

        Raises:
            DatabaseAway, StoreAway
            OSError: the folder can't be written to, or another backup is being made there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            return self._make(folder)

    def _make(self, folder: Path) -> Made:
        rows = folder / _UNFINISHED
        shutil.rmtree(rows, ignore_errors=True)
        rows.mkdir()
        kept = _objects(folder)
        copied, _ = self._keep(kept)
        dumped = dump(self._url, rows)
        late, bad = self._keep(kept)
        name = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        (rows / _MANIFEST).write_text(json.dumps(asdict(dumped), indent=1) + "\n")
        _sync(rows)
        rows.rename(folder / name)
        _sync(folder)
        return Made(name, dumped.rows, copied + late, bad)

    def restore(self, folder: Path, name: str | None = None) -> tuple[str, int]:
        """Fill an empty database, and the store as far as objects aren't there; nothing else may run.

        Args:
            name: of the backup, by default the newest.

        Returns:
            Its name, and how many objects were copied.

        Raises:
            NoBackup
            NotEmpty: the database has rows; they would be mixed.
            Damaged, DatabaseAway, StoreAway
        """
        found = backups(folder)
        if not found or (name is not None and name not in found):
            raise NoBackup(f"there is no backup {name or ''} in {folder}".replace("  ", " "))
        name = name or found[-1]
        dumped = Dump(**json.loads((folder / name / _MANIFEST).read_text()))
        kept = _objects(folder)
        keys = (key for prefix in PREFIXES for batch in kept.keys(prefix, older_than_s=0) for key in batch)
        copied = sum(_at_once(lambda key: _copy(kept, self._store, key), keys))
        load(self._url, folder / name, dumped)
        return name, copied

    def _keep(self, kept: Store) -> tuple[int, list[str]]:
        """Copy what rows name: how many objects, and those that couldn't be."""
        bad: list[str] = []

        def keep(each: Named) -> bool:
            try:
                return _copy(self._store, kept, each.key, each)
            except (ObjectMissing, _Damaged):
                bad.append(each.key)
                return False

        return sum(_at_once(keep, named(self._database))), bad


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


def _copy(source: Store, target: Store, key: str, wanted: Named | None = None) -> bool:
    """Copy an object that isn't there yet; False if it is.

    Raises:
        ObjectMissing, StoreAway
        _Damaged
    """
    size_bytes = wanted.size_bytes if wanted else source.size_bytes(key)
    if target.size_bytes(key) == size_bytes:
        return False
    chunks, digest = source.chunks(key), hashlib.sha256()
    writer = target.writer(key)
    try:
        for chunk in chunks:
            digest.update(chunk)
            writer.write(chunk)
        if wanted and digest.digest() != wanted.sha256:
            raise _Damaged(key)
    except BaseException:
        writer.abort()
        raise
    writer.close()
    return True


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
