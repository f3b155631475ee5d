"""The route of previews: their bytes, or a link to where the store has them."""

from __future__ import annotations

from uuid import UUID

from flask import Response, request
from flask.views import MethodView
from flask_smorest import Blueprint

from api.auth import current_key, requires
from api.conditions import unmodified
from api.rooms import rooms
from api.schemas import version_of
from photos.photo import SIZES

blueprint = Blueprint("previews", __name__, url_prefix="/v1/photos", description="Smaller pictures of photos")

_TEXT = {"type": "string"}
_CACHED = {
    "ETag": {"description": "strong", "schema": _TEXT},
    "Cache-Control": {"description": "for ever with the right `?v=`", "schema": _TEXT},
}
_LINKED = {
    "Location": {
        "description": "a link to the store, valid for 5 min; send no `Authorization` there",
        "schema": _TEXT,
    },
    "Cache-Control": {"description": "no-store", "schema": _TEXT},
}
_OF_PREVIEWS = [
    {"in": "path", "name": "size", "required": True, "schema": {"type": "string", "enum": list(SIZES)}},
    {
        "in": "query",
        "name": "v",
        "schema": {"type": "string"},
        "description": "as the photo's `url`s have it; then the answer may be cached for ever",
    },
    {"in": "header", "name": "If-None-Match", "schema": {"type": "string"}},
]
_FOREVER = "private, immutable, max-age=31536000"


@blueprint.route("/<uuid:photo_id>/previews/<string:size>")
class Preview(MethodView):
    """A preview's bytes."""

    @requires("photos:read")
    @blueprint.doc(parameters=_OF_PREVIEWS)
    @blueprint.response(200, content_type="image/jpeg", headers=_CACHED)
    @blueprint.alt_response(304, description="The client has it already")
    @blueprint.alt_response(302, description="With `SAFELIGHT_PREVIEW_REDIRECT`", headers=_LINKED)
    @blueprint.alt_response(202, description="It is being made: try again after Retry-After seconds")
    def get(self, photo_id: UUID, size: str) -> Response:
        """A preview: `small`, `medium` or `large`; strong ETag, cached for ever under `?v=`."""
        owner = current_key().owner
        # A page has a session, and shows pictures of its own origin alone.
        if rooms().redirects_previews and request.method == "GET" and "Authorization" in request.headers:
            return _link(photo_id, size, owner)
        preview, data = rooms().views.preview(photo_id, size, owner=owner)
        response = Response(data, content_type=preview.media_type)
        response.set_etag(preview.sha256)
        current = request.args.get("v") == version_of(preview)
        response.headers["Cache-Control"] = _FOREVER if current else "private, no-cache"
        response.make_conditional(request)
        return response


def _link(photo_id: UUID, size: str, owner: str) -> Response:
    preview, link = rooms().views.preview_link(photo_id, size, owner=owner)
    response = unmodified(request, preview.sha256) or Response(status=302, headers={"Location": link})
    response.headers["Cache-Control"] = "no-store"  # the link outlives its owner's key, if only by minutes
    return response
