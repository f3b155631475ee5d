"""Tasks and dead letters as JSON."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

from api.schemas import ErrorSchema, PlainText, TaskSchema, preview_url
from db.tables import TASK_STATES
from photos.kinds import ERROR_TYPES, KINDS, REQUIRED
from photos.photo import PhotoView
from tasks.groups import Group
from tasks.views import AttemptView

_KIND = validate.OneOf(list(KINDS))
_ERROR_TYPE = validate.OneOf(ERROR_TYPES)
_IDS_MAX = 1_000


class PhotosTaskSchema(TaskSchema):
    """One task, and the photo that it is about."""

    photo_id = fields.UUID(required=True, attribute="subject")
    trace_id = fields.String(allow_none=True, metadata={"description": "of the request that submitted it"})


class TasksSchema(ma.Schema):
    """A page of tasks."""

    tasks = fields.List(fields.Nested(PhotosTaskSchema), required=True)
    next_cursor = fields.String(allow_none=True)


class AttemptSchema(ma.Schema):
    """One attempt at a task; `outcome` is null while it lasts."""

    number = fields.Integer(required=True)
    worker = fields.String(required=True)
    started_at = fields.DateTime(required=True)
    finished_at = fields.DateTime(allow_none=True)
    outcome = fields.String(
        allow_none=True,
        validate=validate.OneOf(["completed", "failed", "retried", "snoozed", "cancelled"]),
    )
    error = fields.Nested(ErrorSchema, allow_none=True)
    traceback = fields.String(
        allow_none=True, metadata={"description": "where it failed; null for a key that isn't admin"}
    )


class WholeTaskSchema(PhotosTaskSchema):
    """One task with its attempts, the first first."""

    history = fields.List(fields.Nested(AttemptSchema), required=True)


class TaskArguments(ma.Schema):
    """The query of a list of tasks."""

    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.String(load_default=None)
    state = fields.String(load_default=None, validate=validate.OneOf(TASK_STATES))
    kind = fields.String(load_default=None, validate=_KIND)
    error_type = fields.String(load_default=None, validate=_ERROR_TYPE)
    photo_id = fields.UUID(load_default=None)
    message = PlainText(
        load_default=None,
        metadata={"description": "a group's message, as /v1/dead-letters has it; it needs an `error_type`"},
    )

    @ma.validates_schema
    def _is_bounded(self, data: dict[str, Any], **_: Any) -> None:
        if data["message"] is not None and data["error_type"] is None:
            raise ma.ValidationError("give the group's `error_type` too", "message")


class BulkArguments(ma.Schema):
    """Which failed tasks are meant: those that fit all that is given. `all` stands for no filter at all."""

    kind = fields.String(validate=_KIND)
    error_type = fields.String(validate=_ERROR_TYPE)
    message = PlainText(metadata={"description": "a group's message, as /v1/dead-letters has it"})
    failed_before = fields.AwareDateTime(default_timezone=UTC)
    ids = fields.List(fields.UUID(), validate=validate.Length(1, _IDS_MAX))
    all = fields.Boolean(load_default=False)
    dry_run = fields.Boolean(load_default=False, metadata={"description": "only count them"})

    @ma.validates_schema
    def _says_which(self, data: dict[str, Any], **_: Any) -> None:
        given = data.keys() - {"all", "dry_run", "batch_id"}
        if bool(given) == data["all"]:
            raise ma.ValidationError('give a filter, or "all": true, and not both')


class RequeueArguments(BulkArguments):
    """The same, to be run again."""

    batch_id = fields.UUID(
        metadata={
            "description": "one of your own, by which /v1/tasks/batches/{batch_id} tells how it goes on"
        }
    )


class RequeuedSchema(ma.Schema):
    """How many tasks of a batch are in which state."""

    states = fields.Dict(
        keys=fields.String(validate=validate.OneOf(TASK_STATES)), values=fields.Integer(), required=True
    )


class GroupArguments(ma.Schema):
    """Which dead letters are meant."""

    kind = fields.String(load_default=None, validate=_KIND)
    error_type = fields.String(load_default=None, validate=_ERROR_TYPE)


class BulkSchema(ma.Schema):
    """What became of many tasks."""

    dry_run = fields.Boolean(required=True)
    as_of = fields.DateTime(
        required=True,
        metadata={
            "description": "of a dry run: as `failed_before` it keeps out what fails, or fails again, later"
        },
    )
    outcomes = fields.Dict(
        keys=fields.String(validate=validate.OneOf(["requeued", "joined", "discarded", "unchanged"])),
        values=fields.Integer(),
        required=True,
    )
    remaining = fields.Integer(
        required=True, metadata={"description": "still to be dealt with: ask again, until it is 0"}
    )


class GroupSchema(ma.Schema):
    """Failed tasks alike in kind, type of error and message; ids are those of the newest."""

    kind = fields.String(required=True)
    error_type = fields.String(required=True)
    message = fields.String(required=True, metadata={"description": "with # for each id and number"})
    count = fields.Integer(required=True)
    first_seen_at = fields.DateTime(required=True)
    last_seen_at = fields.DateTime(required=True)
    task_id = fields.UUID(required=True)
    photo_id = fields.UUID(required=True, attribute="subject")
    filename = fields.String(
        required=True, allow_none=True, metadata={"description": "of that photo, if it is the asker's own"}
    )
    preview_url = fields.String(required=True, allow_none=True, metadata={"description": "the same"})


class DeadLettersSchema(ma.Schema):
    """The dead letters in groups, the largest first; at most 500."""

    groups = fields.List(fields.Nested(GroupSchema), required=True)


class ReprocessArguments(ma.Schema):
    """What to make anew; everything, if it isn't said."""

    kinds = fields.List(
        fields.String(validate=validate.OneOf([kind.name for kind in REQUIRED])),
        load_default=[kind.name for kind in REQUIRED],
        validate=validate.Length(min=1),
    )


def attempt_json(attempt: AttemptView, *, admin: bool) -> dict[str, Any]:
    """An attempt as `AttemptSchema` takes it; only an operator sees where in the code it failed."""
    error = {"type": attempt.error_type, "detail": attempt.error_detail or ""}
    return {
        **vars(attempt),
        "error": error if attempt.error_type else None,
        "traceback": attempt.traceback if admin else None,
    }


def group_json(group: Group, photo: PhotoView | None) -> dict[str, Any]:
    """A group as `GroupSchema` takes it, with its newest photo if that may be looked at."""
    preview = photo.previews[0] if photo and photo.previews else None
    return {
        **vars(group),
        "filename": photo and photo.filename,
        "preview_url": preview_url(photo, preview) if photo and preview else None,
    }
