"""`/v1/system`, for operators: what the service stands on, which processes it is, and where else to look."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from flask.views import MethodView
from flask_smorest import Blueprint
from marshmallow import fields, validate

from api.auth import requires
from api.rooms import rooms

blueprint = Blueprint("system", __name__, url_prefix="/v1/system", description="What all of it stands on")


class DependencySchema(ma.Schema):
    """A server that the service needs."""

    name = fields.String(required=True)
    up = fields.Boolean(required=True)
    since = fields.DateTime(
        required=True,
        allow_none=True,
        metadata={"description": "up: when it was started; away: when this process first found it so"},
    )
    version = fields.String(required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)


class ProcessSchema(ma.Schema):
    """A live process, by its own word; what one of another version doesn't say is null."""

    name = fields.String(required=True, metadata={"description": "host:pid"})
    role = fields.String(required=True, validate=validate.OneOf(["api", "worker"]))
    slots = fields.Integer(required=True, metadata={"description": "tasks at once; 0 for the API"})
    away = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "queues that it puts off: its breaker is open"},
    )
    version = fields.String(required=True, allow_none=True)
    revision = fields.String(required=True, allow_none=True)
    python = fields.String(required=True, allow_none=True)
    started_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})
    led_at = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "format": "date-time",
            "description": "when it last led a round of the relay, as of its last heartbeat",
        },
    )


class LinksSchema(ma.Schema):
    """Where else to look; null where there is none."""

    grafana = fields.String(required=True, allow_none=True)
    prometheus = fields.String(required=True, allow_none=True)


class SystemSchema(ma.Schema):
    """The service as a whole."""

    version = fields.String(required=True, metadata={"description": "of the process that answers"})
    revision = fields.String(required=True)
    now = fields.DateTime(required=True, metadata={"description": "PostgreSQL's clock"})
    dependencies = fields.List(fields.Nested(DependencySchema), required=True)
    processes = fields.List(
        fields.Nested(ProcessSchema),
        required=True,
        allow_none=True,
        metadata={"description": "null while Redis is away"},
    )
    store_free_bytes = fields.Integer(
        required=True, allow_none=True, metadata={"description": "null for a store without a bound"}
    )
    links = fields.Nested(LinksSchema, required=True)


@blueprint.route("")
class System(MethodView):
    """All of it."""

    @requires("admin")
    @blueprint.response(200, SystemSchema)
    def get(self) -> dict[str, Any]:
        """Dependencies, live processes and their versions, who leads the relay, room in the store."""
        system, found = rooms().system, rooms().overview.processes()
        return {
            "version": system.version,
            "revision": system.revision,
            "now": rooms().overview.now(),
            "dependencies": list(rooms().dependencies.look()),
            "processes": None if found is None else [vars(process) for process in found],
            "store_free_bytes": system.free_bytes(),
            "links": {"grafana": system.grafana_url or None, "prometheus": system.prometheus_url or None},
        }
