"""Routes of queues, for operators: their figures are those of all owners' photos."""

from __future__ import annotations

from typing import Any

from flask.views import MethodView
from flask_smorest import Blueprint

from api.auth import requires
from api.errors import PROBLEM
from api.queue_schemas import HistorySchema, QueueArguments, QueueSchema, QueuesSchema
from api.rooms import rooms
from tasks.history import HistoryView
from tasks.overview import QueueView

blueprint = Blueprint("queues", __name__, url_prefix="/v1", description="Queues and workers")


@blueprint.route("/queues")
class Queues(MethodView):
    """All queues and all workers."""

    @requires("admin")
    @blueprint.response(200, QueuesSchema)
    def get(self) -> dict[str, Any]:
        """How much waits and for how long, how fast it is worked off, and by whom."""
        overview = rooms().overview
        return {"queues": overview.queues(), "workers": overview.workers()}


@blueprint.route("/queue-history")  # beside them: a queue could have that name
class QueuesHistory(MethodView):
    """What the queues did lately."""

    @requires("admin")
    @blueprint.response(200, HistorySchema)
    def get(self) -> HistoryView:
        """How much was completed and failed, and how fast, in each 15 s of the last 15 min."""
        return rooms().history.lately()


@blueprint.route("/queues/<string:name>")
class Queue(MethodView):
    """One queue."""

    @requires("admin")
    @blueprint.arguments(QueueArguments)
    @blueprint.response(200, QueueSchema)
    @blueprint.alt_response(404, description="No such queue", **PROBLEM)
    def patch(self, changes: dict[str, Any], name: str) -> QueueView:
        """Pause or resume a queue, or set its rate; what isn't named stays."""
        queues = rooms().queues
        queues.kind(name)
        if "paused" in changes:
            queues.set_paused(name, changes["paused"])
        if "rate" in changes:
            queues.set_rate(name, changes["rate"])
        return next(queue for queue in rooms().overview.queues() if queue.name == name)
