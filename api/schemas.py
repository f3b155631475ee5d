"""The interface's JSON, as marshmallow schemas; flask-smorest documents them in /openapi.json."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import marshmallow as ma
from flask import url_for
from marshmallow import fields, validate

from db.tables import PHOTO_STATES
from photos.photo import PhotoView, PreviewView


class PlainText(fields.String):
    """Text that PostgreSQL can hold: no NUL, and no half of a surrogate pair."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
            raise ma.ValidationError("Not valid text.")
        return text


class ErrorSchema(ma.Schema):
    """What went wrong last."""

    type = fields.String(required=True)
    detail = fields.String(required=True)


class TaskSchema(ma.Schema):
    """One task of a photo."""

    id = fields.UUID(required=True)
    kind = fields.String(required=True)
    state = fields.String(required=True)
    attempts = fields.Integer(required=True)
    max_attempts = fields.Integer(required=True)
    run_at = fields.DateTime(required=True)
    error = fields.Nested(ErrorSchema, allow_none=True)
    created_at = fields.DateTime(required=True)
    started_at = fields.DateTime(allow_none=True)
    finished_at = fields.DateTime(allow_none=True)


class PreviewSchema(ma.Schema):
    """One preview; its `url` changes with its bytes, so that it may be cached for ever."""

    size = fields.String(required=True)
    width = fields.Integer(required=True)
    height = fields.Integer(required=True)
    media_type = fields.String(required=True)
    size_bytes = fields.Integer(required=True)
    url = fields.String(required=True)


class AnalysisSchema(ma.Schema):
    """What a remote service says of a photo."""

    state = fields.String(required=True, validate=validate.OneOf(["processing", "complete", "failed"]))
    data = fields.Dict(required=True, metadata={"description": "as far as it is known"})
    polls = fields.Integer(required=True, metadata={"description": "answers that the newest run got"})
    next_poll_at = fields.DateTime(required=True, allow_none=True)
    completed_at = fields.DateTime(required=True, allow_none=True)
    error = fields.Nested(ErrorSchema, required=True, allow_none=True)


class AnalysedSchema(ma.Schema):
    """A photo's analysis, alone."""

    analysis = fields.Nested(AnalysisSchema, required=True)


class AnalysisArguments(ma.Schema):
    """The query of a request for an analysis."""

    refresh = fields.Boolean(
        load_default=False, metadata={"description": "ask anew though there is a complete result"}
    )


class UploadArguments(ma.Schema):
    """The query of an upload."""

    analysis = fields.Boolean(load_default=False, metadata={"description": "have it analysed as well"})


class PhotoSchema(ma.Schema):
    """One photo; `width` and `height` are those of the upright picture."""

    id = fields.UUID(required=True)
    state = fields.String(required=True, validate=validate.OneOf(PHOTO_STATES))
    filename = fields.String(allow_none=True)
    media_type = fields.String(required=True)
    size_bytes = fields.Integer(required=True)
    sha256 = fields.String(required=True)
    width = fields.Integer(allow_none=True)
    height = fields.Integer(allow_none=True)
    created_at = fields.DateTime(required=True)
    ready_at = fields.DateTime(allow_none=True)
    taken_at = fields.String(allow_none=True, metadata={"description": "the camera's local time"})
    warnings = fields.List(fields.String(), required=True)
    previews = fields.List(fields.Nested(PreviewSchema), required=True)
    placeholder = fields.String(allow_none=True, metadata={"description": "ThumbHash, base64"})
    exif = fields.Dict(allow_none=True)
    analysis = fields.Nested(AnalysisSchema, allow_none=True)
    tasks = fields.List(fields.Nested(TaskSchema), required=True)

    @ma.pre_dump
    def _from_view(self, photo: PhotoView, **_: Any) -> dict[str, Any]:
        return {
            **vars(photo),
            "taken_at": (photo.exif or {}).get("taken_at"),
            "placeholder": base64.b64encode(photo.placeholder).decode() if photo.placeholder else None,
            "previews": [{**vars(preview), "url": preview_url(photo, preview)} for preview in photo.previews],
        }


_NOT_BRIEF = ("size_bytes", "sha256", "ready_at", "warnings", "exif", "analysis", "tasks")


class ListedPhotoSchema(PhotoSchema):
    """One photo of a list; a brief one lacks what isn't required here, and all previews but the smallest."""

    size_bytes = fields.Integer()
    sha256 = fields.String()
    warnings = fields.List(fields.String())
    tasks = fields.List(fields.Nested(TaskSchema))


class PhotosSchema(ma.Schema):
    """A page of photos."""

    photos = fields.List(fields.Nested(ListedPhotoSchema), required=True)
    next_cursor = fields.String(allow_none=True)

    @ma.post_dump(pass_original=True)
    def _shorten(self, page: dict[str, Any], original: dict[str, Any], **_: Any) -> dict[str, Any]:
        if original["brief"]:
            page["photos"] = [_brief(photo) for photo in page["photos"]]
        return page


def _brief(photo: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in photo.items() if name not in _NOT_BRIEF}


class ExifSchema(ma.Schema):
    """A photo's metadata: normalised fields with units in their names, and all raw tags."""

    fields_ = fields.Dict(data_key="exif", required=True)
    raw = fields.Dict(required=True)


class ResultSchema(ma.Schema):
    """What became of one file of several: a photo, or a problem (RFC 9457)."""

    status = fields.Integer(required=True)
    filename = fields.String(required=True, allow_none=True)
    photo = fields.Nested(PhotoSchema, allow_none=True)
    problem = fields.Dict(allow_none=True)


class BatchSchema(ma.Schema):
    """A result for each file, in the order in which they came."""

    results = fields.List(fields.Nested(ResultSchema), required=True)


_LOCAL = {"format": "local-date-time", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"}


class LocalTime(fields.NaiveDateTime):
    """A camera's local time."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime:
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise ma.ValidationError("Not a date or a time: 2024-02-29 or 2024-02-29T12:00:00.") from error
        if found.tzinfo is not None:
            raise ma.ValidationError("A camera's local time has no offset: 2024-02-29T12:00:00.")
        return found


# The server takes a request's first line of 4 KiB at most.
_IDS_MAX = 50


class ListArguments(ma.Schema):
    """The query of a list of photos."""

    taken_after = LocalTime(
        load_default=None,
        metadata={**_LOCAL, "description": "the camera's local time, to the second; itself included"},
    )
    taken_before = LocalTime(
        load_default=None, metadata={**_LOCAL, "description": "the same, itself not included"}
    )
    sha256 = fields.String(
        load_default=None, validate=validate.Regexp(r"[0-9a-fA-F]{64}\Z", error="64 hexadecimal digits.")
    )

    ids = fields.List(
        fields.UUID(),
        load_default=None,
        data_key="id",
        validate=validate.Length(max=_IDS_MAX),
        metadata={"description": "these alone: `id=...&id=...`"},
    )
    brief = fields.Boolean(
        load_default=False,
        metadata={"description": "without metadata, tasks, analyses; the smallest previews alone"},
    )
    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.String(load_default=None)
    state = fields.String(load_default=None, validate=validate.OneOf(PHOTO_STATES))


def version_of(preview: PreviewView) -> str:
    """What stands in `?v=` of a preview's URL, and changes with its bytes."""
    return preview.sha256[:16]


def preview_url(photo: PhotoView, preview: PreviewView) -> str:
    """Where a preview is, for as long as its bytes are these."""
    return url_for("previews.Preview", photo_id=photo.id, size=preview.size, v=version_of(preview))
