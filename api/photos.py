"""Routes of photos. A route translates between HTTP and `photos`, and nothing else."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import request, url_for
from flask.views import MethodView
from flask_smorest import Blueprint

from api import batch, digests, idempotency
from api.auth import current_key, requires
from api.errors import PROBLEM
from api.paging import NEXT, cursor_of, position_of
from api.rooms import rooms
from api.schemas import (
    BatchSchema,
    ExifSchema,
    ListArguments,
    PhotoSchema,
    PhotosSchema,
    UploadArguments,
)
from api.task_schemas import ReprocessArguments
from api.tracing import log_more
from api.upload import BODY, FORM_OF_SEVERAL, received
from api.waiting import wait_asked, wait_while
from photos.intake import Upload
from photos.photo import PhotoView
from photos.views import Filters

blueprint = Blueprint(
    "photos", __name__, url_prefix="/v1/photos", description="Photos and what is made of them"
)

_TEXT = {"type": "string"}
_LOCATION = {
    "Location": {"description": "the photo", "schema": _TEXT},
    "Idempotent-Replayed": {"description": "`true`: the answer of a request before", "schema": _TEXT},
}
_APPLIED = {"Preference-Applied": {"description": "that it was waited", "schema": _TEXT}}
_PREFER = {
    "in": "header",
    "name": "Prefer",
    "schema": {"type": "string"},
    "example": "wait=10",
    "description": "`wait=N` (RFC 7240): hold the answer until the photo is finished, N seconds at most",
}


@blueprint.route("")
class Photos(MethodView):
    """The owner's photos."""

    @requires("photos:write")
    @blueprint.doc(requestBody=BODY, parameters=[idempotency.PARAMETER, *digests.PARAMETERS])
    @blueprint.arguments(UploadArguments, location="query")
    @blueprint.response(
        202, PhotoSchema, description="Taken in; previews and metadata follow", headers=_LOCATION
    )
    @blueprint.alt_response(
        200, schema=PhotoSchema, description="The owner has this file already", headers=_LOCATION
    )
    @blueprint.alt_response(413, **PROBLEM, description="Larger than `SAFELIGHT_MAX_UPLOAD_BYTES`")
    @blueprint.alt_response(415, **PROBLEM, description="No photo, by its first bytes, or a compressed body")
    @blueprint.alt_response(408, **PROBLEM, description="The body stalls, or comes too slowly")
    @blueprint.alt_response(
        409, **PROBLEM, description="The first with this key is under way, or no analysis"
    )
    def post(self, arguments: dict[str, Any]) -> tuple[PhotoView, int, dict[str, str]]:
        """Take in one photo: the multipart field `file`, or the raw bytes as the body.

        `Content-Digest`, `Repr-Digest` (RFC 9530; in a part's head, of that part) are checked. With an
        `Idempotency-Key` the same file sent again within 24 h gets the same answer, and changes nothing.
        """
        owner, intake, analyses = current_key().owner, rooms().intake, rooms().analyses
        if arguments["analysis"]:
            analyses.check()
        rooms().backlog.check()
        with (
            idempotency.reserved(request, intake, owner=owner) as reservation,
            received(
                request,
                intake,
                max_bytes=rooms().max_upload_bytes,
                each=reservation.renew if reservation else lambda: None,
            ) as (upload, filename),
        ):
            accepted = intake.accept(upload, owner=owner, filename=filename, reservation=reservation)
        log_more(photo_id=str(accepted.id))
        if arguments["analysis"]:
            analyses.request(accepted.id, owner=owner)
        photo = rooms().views.get(accepted.id, owner=owner)
        headers = {"Location": url_for("photos.Photo", photo_id=accepted.id)}
        if reservation is not None and reservation.earlier is not None:
            headers["Idempotent-Replayed"] = "true"
        return photo, 202 if accepted.created else 200, headers

    @requires("photos:read")
    @blueprint.arguments(ListArguments, location="query")
    @blueprint.response(200, PhotosSchema, headers=NEXT)
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
                ids=arguments["ids"],
            ),
            after=position_of(arguments["cursor"]),
            brief=arguments["brief"],
        )
        cursor = cursor_of(page.last)
        headers = {}
        if cursor is not None:
            texts = ListArguments().dump(arguments)
            given = {name: text for name, text in texts.items() if text is not None}
            link = url_for("photos.Photos", **{**given, "cursor": cursor})
            headers["Link"] = f'<{link}>; rel="next"'
        return {"photos": page.photos, "next_cursor": cursor, "brief": arguments["brief"]}, 200, headers


@blueprint.route("/batch")
class Batch(MethodView):
    """Several photos at once."""

    @requires("photos:write")
    @blueprint.doc(requestBody=FORM_OF_SEVERAL)
    @blueprint.alt_response(409, **PROBLEM, description="No analysis service is configured")
    @blueprint.alt_response(413, **PROBLEM, description="Larger than `SAFELIGHT_MAX_BATCH_BYTES`")
    @blueprint.alt_response(415, **PROBLEM, description="No form, or a compressed one")
    @blueprint.arguments(UploadArguments, location="query")
    @blueprint.response(207, BatchSchema, description="A result for each file, in order")
    @blueprint.alt_response(408, **PROBLEM, description="The body stalls, or comes too slowly")
    def post(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take in every multipart field `file`, 100 at most; each is kept as soon as it has come.

        One that is refused doesn't spoil the others. If the form breaks off, the files before that are kept:
        send it again, the same bytes are the same photo. So no `Idempotency-Key` is needed, nor looked at.
        """
        rooms().backlog.check()
        owner, analyses = current_key().owner, rooms().analyses
        if arguments["analysis"]:
            analyses.check()

        def accept(upload: Upload, filename: str | None) -> tuple[PhotoView, int]:
            accepted = rooms().intake.accept(upload, owner=owner, filename=filename)
            if arguments["analysis"]:
                analyses.request(accepted.id, owner=owner)
            return rooms().views.get(accepted.id, owner=owner), 202 if accepted.created else 200

        return {"results": batch.results(request, rooms().intake, accept, max_bytes=rooms().max_batch_bytes)}


@blueprint.route("/<uuid:photo_id>")
class Photo(MethodView):
    """One photo."""

    @requires("photos:read")
    @blueprint.doc(parameters=[_PREFER])
    @blueprint.response(200, PhotoSchema, headers=_APPLIED)
    def get(self, photo_id: UUID) -> tuple[PhotoView, int, dict[str, str]]:
        """The photo with its tasks; `Prefer: wait=N` waits up to 30 s until it is finished."""
        views, owner = rooms().views, current_key().owner
        photo = views.get(photo_id, owner=owner)
        wait_s = wait_asked(request)
        if not wait_s:
            return photo, 200, {}
        if photo.state == "processing":
            if not wait_while(lambda: views.is_processing(photo_id), photo_id, timeout_s=wait_s):
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
