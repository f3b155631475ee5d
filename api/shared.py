"""The route of links that need no key: a preview, for a service that was given its link."""

from __future__ import annotations

from flask import Response
from flask.views import MethodView
from flask_smorest import Blueprint

from api.errors import PROBLEM
from api.rooms import rooms

blueprint = Blueprint("shared", __name__, url_prefix="/v1/shared", description="What links let see")


@blueprint.route("/previews/<string:token>")
class SharedPreview(MethodView):
    """A preview's bytes."""

    @blueprint.doc(security=[])
    @blueprint.response(200, content_type="image/jpeg")
    @blueprint.alt_response(404, **PROBLEM, description="The link isn't valid, or not any more")
    def get(self, token: str) -> Response:
        """The medium preview that the signed link is for; no key is needed."""
        preview, data = rooms().views.shared_preview(rooms().sharing.opened(token))
        return Response(data, content_type=preview.media_type, headers={"Cache-Control": "private, no-store"})
