"""The route by which a photo is analysed by a slow remote service: asked once, answered at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask.views import MethodView
from flask_smorest import Blueprint

from api.auth import current_key, requires
from api.errors import PROBLEM
from api.rooms import rooms
from api.schemas import AnalysedSchema, AnalysisArguments
from api.waiting import wait_while
from photos.photo import PhotoView

blueprint = Blueprint(
    "analysis", __name__, url_prefix="/v1/photos", description="What a service says of photos"
)

# How long whoever asks first waits for the service's first answer.
FIRST_CALL_S = 5.0


@blueprint.route("/<uuid:photo_id>/analysis")
class Analysis(MethodView):
    """What a remote service says of a photo."""

    @requires("photos:write")
    @blueprint.arguments(AnalysisArguments, location="query")
    @blueprint.response(202, AnalysedSchema, description="It is being analysed; this is what is known by now")
    @blueprint.alt_response(200, schema=AnalysedSchema, description="All that the service has to say")
    @blueprint.alt_response(409, **PROBLEM, description="No service is configured")
    def post(self, arguments: dict[str, Any], photo_id: UUID) -> tuple[PhotoView, int]:
        """Have the photo analysed; `refresh=true` asks anew though there is a complete result.

        Who asks first waits up to 5 s for the service's first answer; everyone else is answered at once.
        """
        owner, analyses = current_key().owner, rooms().analyses
        requested = analyses.request(photo_id, owner=owner, refresh=arguments["refresh"])
        if (task_id := requested.task_id) is not None:
            wait_while(lambda: not analyses.was_called(task_id), photo_id, timeout_s=FIRST_CALL_S)
        return rooms().views.get(photo_id, owner=owner), 200 if requested.complete else 202
