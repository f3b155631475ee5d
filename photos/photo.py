"""A photo as others see it: frozen, complete, read with all that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from db.prepared import Prepared
from db.transaction import Transaction
from imaging.results import PREVIEW_SIZES
from photos.analysis import AS_JSON as ANALYSIS_AS_JSON
from photos.analysis import AnalysisView, analysis_of
from tasks.views import TaskView, from_json, newest_as_json

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


_COLUMNS = """id, state, filename, media_type, size_bytes, sha256, width, height, created_at, ready_at,
    warnings, placeholder, exif"""
_PREVIEWS = """(
    SELECT coalesce(json_agg(json_build_object(
        'size', size, 'width', width, 'height', height, 'media_type', media_type, 'size_bytes', size_bytes,
        'sha256', encode(sha256, 'hex'), 'key', key)), '[]')
    FROM previews WHERE photo_id = photos.id AND (NOT :brief OR size = :smallest))"""
_OWN = Prepared(
    "photos_of_owner",
    f"""
WITH photos AS MATERIALIZED (SELECT {_COLUMNS}, owner FROM photos WHERE id = ANY(:ids))
SELECT {_COLUMNS}, {_PREVIEWS} AS previews,
    CASE WHEN NOT :brief THEN {newest_as_json("photos.id")} END AS tasks,
    CASE WHEN NOT :brief THEN {ANALYSIS_AS_JSON} END AS analysis
FROM photos WHERE owner = :owner
""",  # noqa: S608
)


def photos_of(tx: Transaction, owner: str, ids: Sequence[UUID], *, brief: bool = False) -> list[PhotoView]:
    """Those of some photos that are the owner's, with all that belongs to them, by one statement; unordered.

    Args:
        brief: with their smallest previews alone: all that a list of pictures shows.
    """
    if not ids:
        return []
    asked = {"ids": list(ids), "owner": owner, "brief": brief, "smallest": SIZES[0]}
    return [_view(**row._asdict()) for row in tx.execute(_OWN, asked)]


def _view(
    *,
    sha256: memoryview,
    warnings: list[str],
    placeholder: memoryview | None,
    previews: list[dict[str, Any]],
    tasks: list[dict[str, Any]] | None,
    analysis: dict[str, Any] | None,
    **others: Any,
) -> PhotoView:
    found = tuple(from_json(tasks or []))
    made = [PreviewView(**preview) for preview in previews]
    return PhotoView(
        **others,
        sha256=sha256.hex(),
        warnings=tuple(warnings),
        placeholder=bytes(placeholder) if placeholder else None,
        previews=tuple(sorted(made, key=lambda view: SIZES.index(view.size))),
        tasks=found,
        analysis=analysis_of(found, analysis),
    )
