"""Routes of photos. A route translates between HTTP and `photos`, and nothing else."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, request, url_for
from flask.views import MethodView
from flask_smorest import Blueprint
from werkzeug.datastructures import ContentRange

from api import batch
from api.attachment import attachment
from api.auth import current_key, requires
from api.conditions import byte_range, unmodified
from api.digests import FIELDS, digest_field
from api.errors import ProblemSchema
from api.idempotency import reserved
from api.paging import cursor_of, position_of
from api.patience import connection_of, patiently
from api.rooms import rooms
from api.schemas import BatchSchema, ExifSchema, ListArguments, PhotoSchema, PhotosSchema, version_of
from api.tracing import log_more
from api.upload import received
from api.waiting import wait_asked, wait_while
from photos.intake import Upload
from photos.photo import PhotoView
from photos.views import Filters

blueprint = Blueprint(
    "photos", __name__, url_prefix="/v1/photos", description="Photos and what is made of them"
)

_FOREVER = "private, immutable, max-age=31536000"
_PROBLEM = {"schema": ProblemSchema, "content_type": "application/problem+json"}
_DIGESTS = [
    {
        "in": "header",
        "name": name,
        "schema": {"type": "string"},
        "description": "of the body (RFC 9530): sha-256 and sha-512 are checked, others passed over",
    }
    for name in FIELDS
]
_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "the same key and file within 24 h: the same answer, and nothing else is done",
}
_RANGES = [
    {"in": "header", "name": "Range", "schema": {"type": "string"}, "description": "one range of bytes"},
    {"in": "header", "name": "If-Range", "schema": {"type": "string"}, "description": "a strong ETag"},
]


@blueprint.route("")
class Photos(MethodView):
    """The owner's photos."""

    @requires("photos:write")
    @blueprint.doc(parameters=[_KEY, *_DIGESTS])
    @blueprint.response(202, PhotoSchema, description="Taken in; previews and metadata follow")
    @blueprint.alt_response(200, schema=PhotoSchema, description="The owner has this file already")
    @blueprint.alt_response(408, **_PROBLEM, description="The body stalls, or comes too slowly")
    @blueprint.alt_response(409, **_PROBLEM, description="The first request with this key is under way")
    def post(self) -> tuple[PhotoView, int, dict[str, str]]:
        """Take in one photo: the multipart field `file`, or the raw bytes as the body.

        `Content-Digest`, `Repr-Digest` (RFC 9530; in a part's head, of that part) are checked. With an
        `Idempotency-Key` the same file sent again within 24 h gets the same answer, and changes nothing.
        """
        owner, intake = current_key().owner, rooms().intake
        rooms().backlog.check()
        with (
            reserved(request, intake, owner=owner) as reservation,
            received(
                request,
                intake,
                max_bytes=rooms().max_upload_bytes,
                each=reservation.renew if reservation else lambda: None,
            ) as (upload, filename),
        ):
            accepted = intake.accept(upload, owner=owner, filename=filename, reservation=reservation)
        log_more(photo_id=str(accepted.id))
        photo = rooms().views.get(accepted.id, owner=owner)
        headers = {"Location": url_for("photos.Photo", photo_id=accepted.id)}
        if reservation is not None and reservation.earlier is not None:
            headers["Idempotent-Replayed"] = "true"
        return photo, 202 if accepted.created else 200, headers

    @requires("photos:read")
    @blueprint.arguments(ListArguments, location="query")
    @blueprint.response(200, PhotosSchema)
    def get(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
        """List photos, newest first; `Link: rel="next"` leads to the next page."""
        page = rooms().views.page(
            owner=current_key().owner,
            limit=arguments["limit"],
            filters=Filters(
                state=arguments["state"],
                sha256=bytes.fromhex(arguments["sha256"] or "") or None,
                taken_after=arguments["taken_after"],
                taken_before=arguments["taken_before"],
            ),
            after=position_of(arguments["cursor"]),
        )
        cursor = cursor_of(page.last)
        headers = {}
        if cursor is not None:
            texts = ListArguments().dump(arguments)
            given = {name: text for name, text in texts.items() if text is not None}
            link = url_for("photos.Photos", **{**given, "cursor": cursor})
            headers["Link"] = f'<{link}>; rel="next"'
        return {"photos": page.photos, "next_cursor": cursor}, 200, headers


@blueprint.route("/batch")
class Batch(MethodView):
    """Several photos at once."""

    @requires("photos:write")
    @blueprint.response(207, BatchSchema, description="A result for each file, in order")
    @blueprint.alt_response(408, **_PROBLEM, description="The body stalls, or comes too slowly")
    def post(self) -> dict[str, Any]:
        """Take in every multipart field `file`, 100 at most; each is kept as soon as it has come.

        One that is refused doesn't spoil the others. If the form breaks off, the files before that are kept:
        send it again, the same bytes are the same photo. So no `Idempotency-Key` is needed, nor looked at.
        """
        rooms().backlog.check()
        owner = current_key().owner

        def accept(upload: Upload, filename: str | None) -> tuple[PhotoView, int]:
            accepted = rooms().intake.accept(upload, owner=owner, filename=filename)
            return rooms().views.get(accepted.id, owner=owner), 202 if accepted.created else 200

        return {"results": batch.results(request, rooms().intake, accept, max_bytes=rooms().max_batch_bytes)}


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
            wait_while(lambda: views.is_processing(photo_id), timeout_s=wait_s)
            photo = views.get(photo_id, owner=owner)
        return photo, 200, {"Preference-Applied": f"wait={wait_s:.0f}"}

    @requires("photos:write")
    @blueprint.response(204)
    def delete(self, photo_id: UUID) -> None:
        """Delete the photo, its previews and its metadata; its tasks are cancelled."""
        rooms().deletion.delete(photo_id, owner=current_key().owner)


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
    @blueprint.doc(parameters=_RANGES)
    @blueprint.response(200, content_type="application/octet-stream")
    @blueprint.alt_response(206, content_type="application/octet-stream", description="The range asked for")
    @blueprint.alt_response(304, description="The client has it already")
    @blueprint.alt_response(412, **_PROBLEM, description="`If-Match` names another file")
    @blueprint.alt_response(416, **_PROBLEM, description="The range has nothing of the file")
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
