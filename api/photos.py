"""Routes of photos. A route translates between HTTP and `photos`, and nothing else."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, request, url_for
from flask.views import MethodView
from flask_smorest import Blueprint

from api.attachment import attachment
from api.auth import current_key, requires
from api.paging import cursor_of, position_of
from api.rooms import rooms
from api.schemas import ExifSchema, ListArguments, PhotoSchema, PhotosSchema, version_of
from api.task_schemas import ReprocessArguments
from api.tracing import log_more
from api.upload import received
from api.waiting import wait_asked, wait_while_processing
from photos.photo import PhotoView

blueprint = Blueprint(
    "photos", __name__, url_prefix="/v1/photos", description="Photos and what is made of them"
)

_FOREVER = "private, immutable, max-age=31536000"


@blueprint.route("")
class Photos(MethodView):
    """The owner's photos."""

    @requires("photos:write")
    @blueprint.response(202, PhotoSchema, description="Taken in; previews and metadata follow")
    @blueprint.alt_response(200, schema=PhotoSchema, description="The owner has this file already")
    def post(self) -> tuple[PhotoView, int, dict[str, str]]:
        """Take in one photo: the multipart field `file`, or the raw bytes as the body."""
        owner, intake = current_key().owner, rooms().intake
        with received(request, intake, max_bytes=rooms().max_upload_bytes) as (upload, filename):
            accepted = intake.accept(upload, owner=owner, filename=filename)
        log_more(photo_id=str(accepted.id))
        photo = rooms().views.get(accepted.id, owner=owner)
        location = url_for("photos.Photo", photo_id=accepted.id)
        return photo, 202 if accepted.created else 200, {"Location": location}

    @requires("photos:read")
    @blueprint.arguments(ListArguments, location="query")
    @blueprint.response(200, PhotosSchema)
    def get(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
        """List photos, newest first; `Link: rel="next"` leads to the next page."""
        page = rooms().views.page(
            owner=current_key().owner,
            limit=arguments["limit"],
            state=arguments["state"],
            after=position_of(arguments["cursor"]),
        )
        cursor = cursor_of(page.last)
        headers = {}
        if cursor is not None:
            given = {name: value for name, value in arguments.items() if value is not None}
            link = url_for("photos.Photos", **{**given, "cursor": cursor})
            headers["Link"] = f'<{link}>; rel="next"'
        return {"photos": page.photos, "next_cursor": cursor}, 200, headers


@blueprint.route("/<uuid:photo_id>")
class Photo(MethodView):
    """One photo."""

    @requires("photos:read")
    @blueprint.response(200, PhotoSchema)
    def get(self, photo_id: UUID) -> tuple[PhotoView, int, dict[str, str]]:
        """The photo with its tasks; `Prefer: wait=N` waits up to 30 s until it is finished."""
        views, owner = rooms().views, current_key().owner
        photo = views.get(photo_id, owner=owner)
        wait_s = wait_asked(request)
        if not wait_s:
            return photo, 200, {}
        if photo.state == "processing":
            if not wait_while_processing(photo_id, timeout_s=wait_s):
                return photo, 200, {}
            photo = views.get(photo_id, owner=owner)
        return photo, 200, {"Preference-Applied": f"wait={wait_s:.0f}"}

    @requires("photos:write")
    @blueprint.response(204)
    def delete(self, photo_id: UUID) -> None:
        """Delete the photo, its previews and its metadata; its tasks are cancelled."""
        rooms().deletion.delete(photo_id, owner=current_key().owner)


@blueprint.route("/<uuid:photo_id>/reprocess")
class Reprocess(MethodView):
    """Making everything of a photo anew."""

    @requires("photos:write")
    @blueprint.arguments(ReprocessArguments, required=False)
    @blueprint.response(202, PhotoSchema, description="It will be made; what there is stays until then")
    def post(self, arguments: dict[str, Any], photo_id: UUID) -> PhotoView:
        """Make previews and metadata anew, or those that `kinds` names; no body means all."""
        owner = current_key().owner
        rooms().reprocessing.reprocess(photo_id, arguments["kinds"], owner=owner)
        return rooms().views.get(photo_id, owner=owner)


@blueprint.route("/<uuid:photo_id>/previews/<string:size>")
class Preview(MethodView):
    """A preview's bytes."""

    @requires("photos:read")
    @blueprint.response(200, content_type="image/jpeg")
    @blueprint.alt_response(202, description="It is being made: try again after Retry-After seconds")
    def get(self, photo_id: UUID, size: str) -> Response:
        """A preview: `small`, `medium` or `large`; strong ETag, cached for ever under `?v=`."""
        preview, data = rooms().views.preview(photo_id, size, owner=current_key().owner)
        response = Response(data, content_type=preview.media_type)
        response.set_etag(preview.sha256)
        current = request.args.get("v") == version_of(preview)
        response.headers["Cache-Control"] = _FOREVER if current else "private, no-cache"
        response.make_conditional(request)
        return response


@blueprint.route("/<uuid:photo_id>/exif")
class Exif(MethodView):
    """A photo's metadata."""

    @requires("photos:read")
    @blueprint.response(200, ExifSchema)
    @blueprint.alt_response(202, description="It is being read: try again after Retry-After seconds")
    def get(self, photo_id: UUID) -> dict[str, Any]:
        """Normalised fields and all raw tags."""
        normalised, raw = rooms().views.exif(photo_id, owner=current_key().owner)
        return {"fields_": normalised, "raw": raw}


@blueprint.route("/<uuid:photo_id>/original")
class Original(MethodView):
    """The file as it was uploaded."""

    @requires("originals:read")
    @blueprint.response(200, content_type="application/octet-stream")
    def get(self, photo_id: UUID) -> Response:
        """The original's bytes, always as an attachment."""
        photo, chunks = rooms().views.original(photo_id, owner=current_key().owner)
        response = Response(chunks, content_type=photo.media_type)
        response.content_length = photo.size_bytes
        response.headers["Content-Disposition"] = attachment(photo.filename or str(photo.id))
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Cache-Control"] = "private, no-cache"
        response.set_etag(photo.sha256)
        return response
