"""The interface's JSON, as marshmallow schemas; flask-smorest documents them in /openapi.json."""

from __future__ import annotations

import base64
from typing import Any

import marshmallow as ma
from flask import url_for
from marshmallow import fields, validate

from db.tables import PHOTO_STATES
from photos.photo import PhotoView, PreviewView


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
    analysis = fields.Dict(allow_none=True)
    tasks = fields.List(fields.Nested(TaskSchema), required=True)

    @ma.pre_dump
    def _from_view(self, photo: PhotoView, **_: Any) -> dict[str, Any]:
        return {
            **vars(photo),
            "taken_at": (photo.exif or {}).get("taken_at"),
            "placeholder": base64.b64encode(photo.placeholder).decode() if photo.placeholder else None,
            "previews": [{**vars(preview), "url": _url(photo, preview)} for preview in photo.previews],
            "analysis": None,
        }


class PhotosSchema(ma.Schema):
    """A page of photos."""

    photos = fields.List(fields.Nested(PhotoSchema), required=True)
    next_cursor = fields.String(allow_none=True)


class ExifSchema(ma.Schema):
    """A photo's metadata: normalised fields with units in their names, and all raw tags."""

    fields_ = fields.Dict(data_key="exif", required=True)
    raw = fields.Dict(required=True)


class ListArguments(ma.Schema):
    """The query of a list of photos."""

    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.String(load_default=None)
    state = fields.String(load_default=None, validate=validate.OneOf(PHOTO_STATES))


def version_of(preview: PreviewView) -> str:
    """What stands in `?v=` of a preview's URL, and changes with its bytes."""
    return preview.sha256[:16]


def _url(photo: PhotoView, preview: PreviewView) -> str:
    return url_for("photos.Preview", photo_id=photo.id, size=preview.size, v=version_of(preview))
