"""A photo as others see it: frozen, complete, read with all that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from db.session import Prepared, Transaction
from imaging.preview import PREVIEW_SIZES
from photos.analysis import AnalysisView, analyses
from tasks.views import TaskView, newest

SIZES = [size.name for size in PREVIEW_SIZES]


@dataclass(frozen=True)
class Accepted:
    """The photo that an upload became; `created` is False if its owner had it already.

    `healed`: its original had gone from the store, and these bytes took its place.
    """

    id: UUID
    created: bool
    healed: bool = False


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
    analysis: AnalysisView | None
    previews: tuple[PreviewView, ...]
    tasks: tuple[TaskView, ...]


@dataclass(frozen=True)
class Page:
    """Some photos, newest first; `last` is where the next page begins, None if there is none."""

    photos: tuple[PhotoView, ...]
    last: tuple[datetime, UUID] | None


COLUMNS = (
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
_PREVIEWS = Prepared(
    "previews_of",
    """
SELECT photo_id, size, width, height, media_type, size_bytes, sha256, key FROM previews
WHERE photo_id = ANY(:ids) AND (NOT :brief OR size = :smallest)
""",
)


def complete(tx: Transaction, rows: Sequence[Row[Any]], *, brief: bool = False) -> list[PhotoView]:
    """Complete photo rows with their previews and newest tasks, in three statements for all.

    Args:
        brief: with their smallest previews alone, in one statement: all that a list of pictures shows.
    """
    ids = [row.id for row in rows]
    if not ids:
        return []
    made: dict[UUID, list[PreviewView]] = {}
    for row in tx.execute(_PREVIEWS, {"ids": ids, "brief": brief, "smallest": SIZES[0]}):
        values = {**row._mapping, "sha256": row.sha256.hex()}
        made.setdefault(values.pop("photo_id"), []).append(PreviewView(**values))
    tasks: dict[UUID, list[TaskView]] = {}
    found = [] if brief else newest(tx, ids)
    for task in found:
        tasks.setdefault(task.subject, []).append(task)
    analysed = {} if brief else analyses(tx, found, ids)
    return [
        PhotoView(
            **{
                **row._mapping,
                "sha256": row.sha256.hex(),
                "warnings": tuple(row.warnings),
                "placeholder": bytes(row.placeholder) if row.placeholder else None,
                "previews": tuple(sorted(made.get(row.id, []), key=lambda view: SIZES.index(view.size))),
                "tasks": tuple(tasks.get(row.id, [])),
                "analysis": analysed.get(row.id),
            }
        )
        for row in rows
    ]
