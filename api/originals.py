"""The route of originals: the bytes as they came, whole or in part, never to be shown in place."""

from __future__ import annotations

from uuid import UUID

from flask import Response, request
from flask.views import MethodView
from flask_smorest import Blueprint
from werkzeug.datastructures import ContentRange

from api.attachment import attachment
from api.auth import current_key, requires
from api.conditions import byte_range, unmodified
from api.digests import digest_field
from api.errors import PROBLEM
from api.patience import connection_of, patiently
from api.rooms import rooms
from photos.photo import PhotoView

blueprint = Blueprint(
    "originals", __name__, url_prefix="/v1/photos", description="Files as they were uploaded"
)

_RANGES = [
    {"in": "header", "name": "Range", "schema": {"type": "string"}, "description": "one range of bytes"},
    {"in": "header", "name": "If-Range", "schema": {"type": "string"}, "description": "a strong ETag"},
    {"in": "header", "name": "If-None-Match", "schema": {"type": "string"}},
    {"in": "header", "name": "If-Match", "schema": {"type": "string"}},
]
_HEADERS = {
    name: {"description": description, "schema": {"type": "string"}}
    for name, description in (
        ("ETag", "strong: the file's SHA-256"),
        ("Accept-Ranges", "bytes"),
        ("Repr-Digest", "RFC 9530"),
        ("Content-Disposition", "always an attachment"),
        ("Cache-Control", "private, no-cache"),
    )
}
_OF_PART = {**_HEADERS, "Content-Range": {"description": "RFC 9110, 14.4", "schema": {"type": "string"}}}


@blueprint.route("/<uuid:photo_id>/original")
class Original(MethodView):
    """The file as it was uploaded."""

    @requires("originals:read")
    @blueprint.doc(parameters=_RANGES)
    @blueprint.response(200, content_type="application/octet-stream", headers=_HEADERS)
    @blueprint.alt_response(
        206, content_type="application/octet-stream", headers=_OF_PART, description="The range asked for"
    )
    @blueprint.alt_response(304, description="The client has it already")
    @blueprint.alt_response(412, **PROBLEM, description="`If-Match` names another file")
    @blueprint.alt_response(416, **PROBLEM, description="The range has nothing of the file")
    def get(self, photo_id: UUID) -> Response:
        """The original's bytes, always as an attachment; one range of them if asked for, several are not."""
        photo = rooms().views.get(photo_id, owner=current_key().owner)
        response = unmodified(request, photo.sha256) or _original(photo)
        response.set_etag(photo.sha256)
        response.headers["Cache-Control"] = "private, no-cache"
        return response


def _original(photo: PhotoView) -> Response:
    part = byte_range(request, photo.sha256, photo.size_bytes)
    first, end = part or (0, photo.size_bytes)
    chunks = rooms().views.original(photo.id, part) if request.method == "GET" else ()
    response = Response(
        patiently(connection_of(request), chunks), 206 if part else 200, content_type=photo.media_type
    )
    response.content_length = end - first
    response.accept_ranges = "bytes"
    if part:
        response.content_range = ContentRange("bytes", first, end, photo.size_bytes)
    response.headers["Repr-Digest"] = digest_field("sha-256", bytes.fromhex(photo.sha256))
    response.headers["Content-Disposition"] = attachment(photo.filename or str(photo.id))
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
