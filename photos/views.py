"""Reading photos, always for one owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, literal_column, select, tuple_

from db.session import Database
from db.tables import LIVE_STATES, TAKEN_AT, photos
from photos.errors import NotMadeYet, NotToBeHad, PhotoNotFound
from photos.photo import SIZES, Page, PhotoView, PreviewView, photos_of
from storage.errors import ObjectMissing
from storage.store import Store


@dataclass(frozen=True)
class Filters:
    """Which photos are wanted; None lets all through.

    Attributes:
        taken_after: by the camera's local time, this instant in it.
        taken_before: the same, this instant not in it.
        ids: of these alone.
    """

    state: str | None = None
    sha256: bytes | None = None
    taken_after: datetime | None = None
    taken_before: datetime | None = None
    ids: Sequence[UUID] | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """As conditions on `photos`."""
        taken_at = literal_column(TAKEN_AT.text, Text)
        found = []
        if self.state is not None:
            found.append(photos.c.state == self.state)
        if self.sha256 is not None:
            found.append(photos.c.sha256 == self.sha256)
        if self.taken_after is not None:
            found.append(taken_at >= self.taken_after.isoformat(timespec="seconds"))
        if self.taken_before is not None:
            found.append(taken_at < self.taken_before.isoformat(timespec="seconds"))
        if self.ids is not None:
            found.append(photos.c.id.in_(self.ids))
        return found


NO_FILTERS = Filters()
LINK_S = 300.0


class Views:
    """Reads photos; another owner's photo isn't there."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store

    def get(self, photo_id: UUID, *, owner: str) -> PhotoView:
        """Raises PhotoNotFound, DatabaseAway."""
        with self._database.statement() as tx:
            found = photos_of(tx, owner, [photo_id])
        if not found:
            raise PhotoNotFound(f"there is no photo {photo_id}")
        return found[0]

    def is_processing(self, photo_id: UUID) -> bool:
        """Whether the photo is still being processed: the cheap question, for those who wait."""
        with self._database.transaction() as tx:
            state = tx.execute(select(photos.c.state).where(photos.c.id == photo_id)).scalar_one_or_none()
        return state == "processing"

    def page(
        self,
        *,
        owner: str,
        limit: int,
        filters: Filters = NO_FILTERS,
        after: tuple[datetime, UUID] | None = None,
        brief: bool = False,
    ) -> Page:
        """The owner's photos that the filters let through, newest first, from behind `after`.

        Args:
            brief: without their tasks and analyses, and with their smallest previews alone.

        Raises:
            DatabaseAway
        """
        query = select(photos.c.id, photos.c.created_at)
        query = query.where(photos.c.owner == owner, *filters.conditions())
        if after is not None:
            query = query.where(tuple_(photos.c.created_at, photos.c.id) < tuple_(*after))
        query = query.order_by(photos.c.created_at.desc(), photos.c.id.desc()).limit(limit + 1)
        with self._database.transaction() as tx:
            rows = tx.execute(query).all()
            ids = [row.id for row in rows[:limit]]
            found = {photo.id: photo for photo in photos_of(tx, owner, ids, brief=brief)}
        last = (rows[limit - 1].created_at, rows[limit - 1].id) if len(rows) > limit else None
        return Page(tuple(found[photo_id] for photo_id in ids if photo_id in found), last)

    def preview(self, photo_id: UUID, size: str, *, owner: str) -> tuple[PreviewView, bytes]:
        """One preview with its bytes.

        Raises:
            PhotoNotFound: no such photo, or no such size.
            NotMadeYet, NotToBeHad
            StoreAway, DatabaseAway
        """
        _check_size(size)
        preview = self._preview(photo_id, size, owner)
        try:
            return preview, self._store.get(preview.key)
        except ObjectMissing:
            # Made anew between the two looks? Then its row names another object now.
            renewed = self._preview(photo_id, size, owner)
            if renewed.key == preview.key:
                raise
            return renewed, self._store.get(renewed.key)

    def preview_link(self, photo_id: UUID, size: str, *, owner: str) -> tuple[PreviewView, str]:
        """One preview with a link to it in the store, by which anyone may have it for `LINK_S`.

        Raises:
            PhotoNotFound: no such photo, or no such size.
            NotMadeYet, NotToBeHad
            DatabaseAway
        """
        _check_size(size)
        preview = self._preview(photo_id, size, owner)
        return preview, self._store.link(preview.key, valid_s=LINK_S)

    def shared_preview(self, photo_id: UUID) -> tuple[PreviewView, bytes]:
        """The medium preview, for whoever was given a link to it.

        Raises:
            PhotoNotFound: it was deleted, or has no such preview.
            ObjectMissing, StoreAway, DatabaseAway
        """
        with self._database.transaction() as tx:
            owner = tx.execute(select(photos.c.owner).where(photos.c.id == photo_id)).scalar_one_or_none()
        if owner is None:
            raise PhotoNotFound(f"there is no photo {photo_id}")
        return self.preview(photo_id, "medium", owner=owner)

    def _preview(self, photo_id: UUID, size: str, owner: str) -> PreviewView:
        photo = self.get(photo_id, owner=owner)
        for preview in photo.previews:
            if preview.size == size:
                return preview
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

    def original(self, photo_id: UUID, part: tuple[int, int] | None = None) -> Iterator[bytes]:
        """The bytes as they were uploaded, in chunks; of a photo that is known to be the owner's.

        Args:
            part: (first byte, end) if not all of it is wanted.

        Raises:
            PhotoNotFound, ObjectMissing, StoreAway, DatabaseAway
        """
        with self._database.transaction() as tx:
            query = select(photos.c.original_key).where(photos.c.id == photo_id)
            key = tx.execute(query).scalar_one_or_none()
        if key is None:  # deleted between the two looks
            raise PhotoNotFound(f"there is no photo {photo_id}")
        return self._store.chunks(key, part)


def _check_size(size: str) -> None:
    if size not in SIZES:
        raise PhotoNotFound(f"there is no preview size {size!r}: there are {', '.join(SIZES)}")


def _missing(photo: PhotoView, kind: str) -> NotMadeYet | NotToBeHad:
    """Why a result isn't there: it is on its way, or it can't be made."""
    task = next((task for task in photo.tasks if task.kind == kind), None)
    if task is not None and task.state in LIVE_STATES:
        return NotMadeYet(f"the photo's {kind} is being made")
    detail = "its task was given up" if task is None else f"its task was {task.state}"
    detail = task.error.detail if task is not None and task.error else detail
    return NotToBeHad(f"the photo's {kind} can't be had: {detail}")
