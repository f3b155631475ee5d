"""Queues and workers as JSON."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

from tasks.queues import RATES_PER_S


class DepthSchema(ma.Schema):
    """A queue's tasks by state."""

    pending = fields.Integer(required=True)
    queued = fields.Integer(required=True)
    processing = fields.Integer(required=True)
    failed = fields.Integer(required=True)


class QueueSchema(ma.Schema):
    """One queue; what is told of its speed is of the last minute."""

    name = fields.String(required=True)
    paused = fields.Boolean(required=True)
    rate = fields.Float(
        required=True,
        allow_none=True,
        attribute="rate_per_s",
        metadata={"description": "tasks that are begun a second at most; null without a bound"},
    )
    depth = fields.Nested(DepthSchema, required=True)
    oldest_age_s = fields.Float(required=True, metadata={"description": "how long the oldest due task waits"})
    completed_per_s = fields.Float(required=True)
    run_p95_s = fields.Float(required=True, allow_none=True)
    away_for = fields.Integer(
        required=True,
        allow_none=True,
        metadata={
            "description": "workers that put its tasks off, their remote service being away: breakers open"
        },
    )


class InHandSchema(ma.Schema):
    """A task that a worker is processing."""

    id = fields.UUID(required=True)
    kind = fields.String(required=True)
    photo_id = fields.UUID(required=True, attribute="subject")
    started_at = fields.DateTime(required=True)
    running_s = fields.Float(required=True)


class WorkerSchema(ma.Schema):
    """A worker process; what it says of itself is null where that isn't known: while Redis is away, say."""

    name = fields.String(required=True)
    alive = fields.Boolean(required=True, allow_none=True)
    slots = fields.Integer(required=True, allow_none=True)
    tasks = fields.List(fields.Nested(InHandSchema), required=True)


class QueuesSchema(ma.Schema):
    """All queues and all workers."""

    queues = fields.List(fields.Nested(QueueSchema), required=True)
    workers = fields.List(fields.Nested(WorkerSchema), required=True)


class LatelySchema(ma.Schema):
    """One queue's last quarter of an hour: a value for each step, the oldest first."""

    name = fields.String(required=True)
    completed = fields.List(fields.Integer(), required=True)
    failed = fields.List(
        fields.Integer(), required=True, metadata={"description": "for good, and not dealt with since"}
    )
    run_p95_s = fields.List(
        fields.Float(allow_none=True),
        required=True,
        metadata={"description": "of the completed; null where there is none"},
    )


class HistorySchema(ma.Schema):
    """What all queues have finished lately. The step that goes on now isn't in it."""

    begun_at = fields.DateTime(required=True, metadata={"description": "of the first step"})
    step_s = fields.Integer(required=True)
    queues = fields.List(fields.Nested(LatelySchema), required=True)


class QueueArguments(ma.Schema):
    """What to change of a queue."""

    paused = fields.Boolean()
    rate = fields.Float(
        allow_none=True,
        validate=validate.Range(*RATES_PER_S),
        metadata={"description": "tasks a second, 0.5 say; null takes the bound away"},
    )

    @ma.validates_schema
    def _says_what(self, data: dict[str, Any], **_: Any) -> None:
        if not data:
            raise ma.ValidationError("give `paused`, `rate` or both")
