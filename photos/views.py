"""Photos as others see them: frozen views, always for one owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select, tuple_

from db.session import Database, Transaction
from db.tables import photos, previews
from imaging.preview import PREVIEW_SIZES
from photos.errors import NotMadeYet, NotToBeHad, PhotoNotFound
from storage.store import Store
from tasks.views import TaskView, newest


@dataclass(frozen=True)
class PreviewView:
    """One preview; `sha256` is of its bytes (hex)."""

    size: str
    width: int
    height: int
    media_type: str
    size_bytes: int
    sha256: str
    key: str


@dataclass(frozen=True)
class PhotoView:
    """One photo as the API shows it; `width` and `height` are those of the upright picture."""

    id: UUID
    state: str
    filename: str | None
    media_type: str
    size_bytes: int
    sha256: str
    width: int | None
    height: int | None
    created_at: datetime
    ready_at: datetime | None
    warnings: tuple[str, ...]
    placeholder: bytes | None
    exif: dict[str, Any] | None
    previews: tuple[PreviewView, ...]
    tasks: tuple[TaskView, ...]


@dataclass(frozen=True)
class Page:
    """Some photos, newest first; `last` is where the next page begins, None if there is none."""

    photos: tuple[PhotoView, ...]
    last: tuple[datetime, UUID] | None


class Views:
    """Reads photos; another owner's photo isn't there."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store

    def get(self, photo_id: UUID, *, owner: str) -> PhotoView:
        """Raises PhotoNotFound, DatabaseAway."""
        with self._database.transaction() as tx:
            query = select(*_COLUMNS).where(photos.c.id == photo_id, photos.c.owner == owner)
            found = _views(tx, tx.execute(query).all())
        if not found:
            raise PhotoNotFound(f"there is no photo {photo_id}")
        return found[0]

    def is_processing(self, photo_id: UUID) -> bool:
        """Whether the photo is still being processed: the cheap question, for those who wait."""
        with self._database.transaction() as tx:
            state = tx.execute(select(photos.c.state).where(photos.c.id == photo_id)).scalar_one_or_none()
        return state == "processing"

    def page(
        self, *, owner: str, limit: int, state: str | None = None, after: tuple[datetime, UUID] | None = None
    ) -> Page:
        """The owner's photos, newest first, from behind `after`.

        Raises:
            DatabaseAway
        """
        query = select(*_COLUMNS).where(photos.c.owner == owner)
        if state is not None:
            query = query.where(photos.c.state == state)
        if after is not None:
            query = query.where(tuple_(photos.c.created_at, photos.c.id) < tuple_(*after))
        query = query.order_by(photos.c.created_at.desc(), photos.c.id.desc()).limit(limit + 1)
        with self._database.transaction() as tx:
            rows = tx.execute(query).all()
            found = _views(tx, rows[:limit])
        last = (found[-1].created_at, found[-1].id) if len(rows) > limit else None
        return Page(tuple(found), last)

    def preview(self, photo_id: UUID, size: str, *, owner: str) -> tuple[PreviewView, bytes]:
        """One preview with its bytes.

        Raises:
            PhotoNotFound: no such photo, or no such size.
            NotMadeYet, NotToBeHad
            StoreAway, DatabaseAway
        """
        photo = self.get(photo_id, owner=owner)
        for preview in photo.previews:
            if preview.size == size:
                return preview, self._store.get(preview.key)
        raise _missing(photo, "preview")

    def exif(self, photo_id: UUID, *, owner: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Normalised fields and raw tags.

        Raises:
            PhotoNotFound, NotMadeYet, NotToBeHad, DatabaseAway
        """
        photo = self.get(photo_id, owner=owner)
        if photo.exif is None:
            raise _missing(photo, "exif")
        with self._database.transaction() as tx:
            raw = tx.execute(select(photos.c.exif_raw).where(photos.c.id == photo_id)).scalar_one_or_none()
        return photo.exif, raw or {}

    def original(self, photo_id: UUID, *, owner: str) -> tuple[PhotoView, Iterator[bytes]]:
        """The bytes as they were uploaded, in chunks.

        Raises:
            PhotoNotFound, StoreAway, DatabaseAway
        """
        photo = self.get(photo_id, owner=owner)
        with self._database.transaction() as tx:
            key = tx.execute(select(photos.c.original_key).where(photos.c.id == photo_id)).scalar_one()
        return photo, self._store.chunks(key)


_COLUMNS = [
    photos.c[name]
    for name in (
        "id",
        "state",
        "filename",
        "media_type",
        "size_bytes",
        "sha256",
        "width",
        "height",
        "created_at",
        "ready_at",
        "warnings",
        "placeholder",
        "exif",
    )
]
_SIZES = [size.name for size in PREVIEW_SIZES]


def _missing(photo: PhotoView, kind: str) -> NotMadeYet | NotToBeHad:
    """Why a result isn't there: it is on its way, or it can't be made."""
    task = next((task for task in photo.tasks if task.kind == kind), None)
    if task is not None and task.state in ("failed", "cancelled", "discarded"):
        detail = task.error.detail if task.error else f"its task was {task.state}"
        return NotToBeHad(f"the photo's {kind} can't be had: {detail}")
    return NotMadeYet(f"the photo's {kind} is being made")


def _views(tx: Transaction, rows: Sequence[Row[Any]]) -> list[PhotoView]:
    """Complete photo rows with their previews and newest tasks, in two statements for all."""
    ids = [row.id for row in rows]
    if not ids:
        return []
    made: dict[UUID, list[PreviewView]] = {}
    for row in tx.execute(select(previews).where(previews.c.photo_id.in_(ids))):
        values = {**row._mapping, "sha256": row.sha256.hex()}
        made.setdefault(values.pop("photo_id"), []).append(PreviewView(**values))
    tasks: dict[UUID, list[TaskView]] = {}
    for task in newest(tx, ids):
        tasks.setdefault(task.subject, []).append(task)
    return [
        PhotoView(
            **{
                **row._mapping,
                "sha256": row.sha256.hex(),
                "warnings": tuple(row.warnings),
                "previews": tuple(sorted(made.get(row.id, []), key=lambda view: _SIZES.index(view.size))),
                "tasks": tuple(tasks.get(row.id, [])),
            }
        )
        for row in rows
    ]
