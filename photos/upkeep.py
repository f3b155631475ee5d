"""Rows and objects compared: what no row names is removed, what a row misses is told, or made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select

from db.session import Database
from db.tables import photos, previews
from photos.idempotency import PRUNE
from photos.kinds import PREVIEW
from photos.states import PhotoStates
from storage.store import Store
from tasks.submit import Submitter

PREFIXES = ("originals", "previews")
# Longer than any upload can take (`photos.intake.LONGEST_S`) and its commit after that, an outage included.
ORPHAN_AGE_S = 3_600.0
_BATCH = 500

_UNNAMED = """
SELECT given.key FROM unnest(CAST(:keys AS text[])) AS given (key)
WHERE NOT EXISTS (SELECT FROM photos WHERE photos.original_key = given.key)
  AND NOT EXISTS (SELECT FROM previews WHERE previews.key = given.key)
"""


STILL_NAMED = """
SELECT EXISTS (SELECT FROM photos WHERE original_key = :key)
    OR EXISTS (SELECT FROM previews WHERE previews.key = :key)
"""


@dataclass(frozen=True)
class Named:
    """An object that a row names, as it was when it was stored."""

    photo_id: UUID
    key: str
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True)
class Mismatch:
    """An object that a row names and that isn't there, or not of its size."""

    photo_id: UUID
    key: str
    problem: str
    repaired: bool


class Upkeep:
    """Keeps the store and the database in step."""

    def __init__(self, database: Database, store: Store, submitter: Submitter, states: PhotoStates) -> None:
        self._database = database
        self._store = store
        self._submitter = submitter
        self._states = states

    def sweep(self, *, older_than_s: float = ORPHAN_AGE_S) -> int:
        """Remove objects, and unfinished uploads, that are that old and that no row names.

        An upload's object is there before its row; the age keeps the two apart. Idempotency keys that are
        past their time go as well. Returns how many objects went.

        Raises:
            StoreAway, DatabaseAway
        """
        with self._database.statement() as tx:
            tx.execute(PRUNE)
        removed = self._store.remove_unfinished(older_than_s=older_than_s)
        for prefix in PREFIXES:
            for keys in self._store.keys(prefix, older_than_s=older_than_s):
                with self._database.transaction() as tx:
                    unnamed = list(tx.execute(_UNNAMED, {"keys": keys}).scalars())
                for key in unnamed:
                    if not self._is_named(key):  # by now: a thousand deletions take their time
                        self._store.delete(key)
                        removed += 1
        return removed

    def _is_named(self, key: str) -> bool:
        with self._database.statement() as tx:
            return bool(tx.execute(STILL_NAMED, {"key": key}).scalar_one())

    def verify(self, *, repair: bool) -> Iterator[Mismatch]:
        """Every object that a row names and that is missing or has another size.

        Args:
            repair: have a photo's previews made again. A lost original can't be repaired.

        Raises:
            StoreAway, DatabaseAway
        """
        repaired: set[UUID] = set()
        for each in named(self._database):
            photo_id, key = each.photo_id, each.key
            stored_bytes = self._store.size_bytes(key)
            if stored_bytes == each.size_bytes:
                continue
            problem = "missing" if stored_bytes is None else f"{stored_bytes} bytes, not {each.size_bytes}"
            repairable = repair and key.startswith("previews/")
            with self._database.transaction() as tx:
                self._states.lock(tx, photo_id)
                if not tx.execute(STILL_NAMED, {"key": key}).scalar_one():
                    continue  # deleted, or made anew, since the batch was read
                if repairable and photo_id not in repaired:
                    self._submitter.submit(tx, PREVIEW.name, photo_id)
                    self._states.settle(tx, photo_id)
                    repaired.add(photo_id)
            yield Mismatch(photo_id, key, problem, repairable)


Read = Callable[[Select[Any]], Sequence[Any]]


def named(database: Database) -> Iterator[Named]:
    """Every object that rows name, in batches of which each is read by itself.

    Raises:
        DatabaseAway
    """

    def read(query: Select[Any]) -> Sequence[Any]:
        with database.transaction() as tx:
            return tx.execute(query).all()

    return named_by(read)


def named_by(read: Read) -> Iterator[Named]:
    """The same, by whatever reads rows; each object once, though several sizes may name it."""
    originals = select(
        photos.c.id.label("photo_id"),
        photos.c.original_key.label("key"),
        photos.c.size_bytes,
        photos.c.sha256,
    )
    made = select(previews.c.photo_id, previews.c.key, previews.c.size_bytes, previews.c.sha256)
    both = originals.union_all(made).subquery()
    last = ""
    while rows := read(select(both).where(both.c.key > last).order_by(both.c.key).limit(_BATCH)):
        objects = {row.key: Named(row.photo_id, row.key, row.size_bytes, row.sha256) for row in rows}
        yield from objects.values()
        last = rows[-1].key
