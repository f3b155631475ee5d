"""Server-sent events (HTML Living Standard, 9.2): what happens to an owner's photos, as it happens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from uuid import UUID

import marshmallow as ma
from flask import Response, request
from flask.views import MethodView
from flask_smorest import Blueprint
from marshmallow import fields

from api.auth import current_key, requires
from api.errors import PROBLEM, Problem
from api.hub import Hub
from api.rooms import rooms
from api.stream import Stream, StreamEnded
from db.transaction import DatabaseAway
from photos.feed import Event, Feed, Mark, Position

blueprint = Blueprint("events", __name__, url_prefix="/v1", description="What happens, as it happens")

KEEP_ALIVE_S = 15.0
_RETRY_MS = 2_000
_AGAIN_S = 10
_ID = re.compile(r"(\d{1,19})-(\d{1,18})-(\d{1,11})")
# Of a transaction that ran long, an event may be that much older than those before it.
_MARGIN_S = 60.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_TEXT = {"type": "string", "description": "blocks of `id`, `event` and `data`; docs/events.md has the events"}
_AGAIN = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}}

_TASK_STATES = {
    "task-submitted": "pending",
    "task-started": "processing",
    "task-completed": "completed",
    "task-failed": "failed",
    "task-retried": "pending",
    "task-snoozed": "pending",
    "task-requeued": "pending",
    "task-cancelled": "cancelled",
    "task-discarded": "discarded",
}
# What else an event has may be about who did it, which is nobody's business.
_SHOWN = ("attempt", "waited_s", "error_type", "run_at", "size_bytes", "media_type")


class EventArguments(ma.Schema):
    """The query of a stream."""

    last_event_id = fields.String(
        load_default=None, metadata={"description": "as `Last-Event-ID`, for who can't set headers"}
    )


class LastEventId(ma.Schema):
    """The header of a client that comes again."""

    last_event_id = fields.String(load_default=None, data_key="Last-Event-ID")


@blueprint.route("/events")
class Events(MethodView):
    """All photos of the owner."""

    @requires("photos:read")
    @blueprint.arguments(EventArguments, location="query")
    @blueprint.arguments(LastEventId, location="headers")
    @blueprint.response(200, _TEXT, content_type="text/event-stream")
    @blueprint.alt_response(
        503, description="Too many streams here, or a restart: come again", headers=_AGAIN, **PROBLEM
    )
    def get(self, query: dict[str, Any], headers: dict[str, Any]) -> Response:
        """A stream of what happens to the owner's photos, from now on or from behind `Last-Event-ID`."""
        return _stream(None, headers["last_event_id"] or query["last_event_id"])


@blueprint.route("/photos/<uuid:photo_id>/events")
class PhotoEvents(MethodView):
    """One photo."""

    @requires("photos:read")
    @blueprint.arguments(EventArguments, location="query")
    @blueprint.arguments(LastEventId, location="headers")
    @blueprint.response(200, _TEXT, content_type="text/event-stream")
    @blueprint.alt_response(
        503, description="Too many streams here, or a restart: come again", headers=_AGAIN, **PROBLEM
    )
    def get(self, query: dict[str, Any], headers: dict[str, Any], photo_id: UUID) -> Response:
        """A stream of what happens to one photo; it ends with the photo's deletion."""
        return _stream(photo_id, headers["last_event_id"] or query["last_event_id"])


def _stream(photo_id: UUID | None, last_id: str | None) -> Response:
    places, hub, key = rooms().places, rooms().hub, current_key()
    if not places.take():
        raise _full("as many clients as can be are waiting here already")
    stream = Stream(key.owner, photo_id, key.id, request.environ.get("gunicorn.socket"))

    def close() -> None:
        hub.remove(stream)
        places.free()

    try:
        begun = hub.add(stream)
        if photo_id is not None:  # not before: its deletion would be missed
            rooms().views.get(photo_id, owner=key.owner)
        since, reset = _since(begun, last_id)
    except BaseException as error:
        close()
        if isinstance(error, StreamEnded):
            raise _full("this process is stopping") from error
        raise
    lines = _lines(hub, rooms().feed, stream, begun, since, reset)
    response = Response(lines, headers=_HEADERS, content_type="text/event-stream; charset=utf-8")
    response.call_on_close(close)
    return response


def _full(detail: str) -> Problem:
    return Problem(503, "too-many-streams", detail, {"Retry-After": str(_AGAIN_S)})


def _since(begun: Mark, last_id: str | None) -> tuple[Position, str | None]:
    """Where to begin, and why the client must load everything anew, if it must."""
    if last_id is None:
        return begun.position, None
    found = _ID.fullmatch(last_id)
    if found is None:
        return begun.position, "unknown"
    position, reached_s = Position(int(found[1]), int(found[2])), int(found[3])
    feed = rooms().feed
    horizon = feed.horizon()
    if position.xid > horizon.next_xid:
        return begun.position, "unknown"
    age_s = horizon.mark.at.timestamp() - reached_s
    if age_s > rooms().retention_s - _MARGIN_S or feed.is_far_behind(position):
        return begun.position, "too-old"
    return position, None


def _lines(
    hub: Hub, feed: Feed, stream: Stream, begun: Mark, since: Position, reset: str | None
) -> Iterator[str]:
    """The stream's text; it ends with the photo, with the key, and with this process."""
    told = since
    yield f"retry: {_RETRY_MS}\n"
    if reset is not None:
        yield _block(begun, "reset", {"reason": reset})
    elif since == begun.position:
        yield f"id: {_id(begun)}\n\n"
    with suppress(StreamEnded, DatabaseAway):  # the client comes again, and reads on
        for events in _events(hub, feed, stream, begun, since):
            new = [event for event in events if event.position > told]
            if new:
                told = new[-1].position
                yield "".join(map(_told, new))
                if stream.photo_id is not None and any(event.type == "photo-deleted" for event in new):
                    return
            elif not events:
                yield ":\n" + (f"id: {_id(mark)}\n\n" if (mark := hub.told_up_to(stream)) else "\n")


def _events(hub: Hub, feed: Feed, stream: Stream, begun: Mark, since: Position) -> Iterator[Sequence[Event]]:
    """What was missed, then what comes; nothing at all whenever nothing has come for a while."""
    if since < begun.position:
        for event in feed.replay(since, begun.position, owner=stream.owner, photo_id=stream.photo_id):
            yield [event]
    while True:
        yield stream.take(KEEP_ALIVE_S)


@lru_cache(maxsize=1_024)
def _told(event: Event) -> str:
    """An event as text, made once for all streams that it is for."""
    return _block(event.mark, event.type, _data(event))


def _block(mark: Mark, event: str, data: dict[str, Any]) -> str:
    return f"id: {_id(mark)}\nevent: {event}\ndata: {json.dumps(data)}\n\n"


def _id(mark: Mark) -> str:
    """Opaque to clients. The time tells whether what came after it may have been pruned since."""
    return f"{mark.position.xid}-{mark.position.id}-{int(mark.at.timestamp())}"


def _data(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {
        "photo_id": str(event.photo_id),
        "photo_state": event.photo_state,
        "at": event.at.isoformat(),
    }
    if event.task_id is not None:
        data |= {
            "task_id": str(event.task_id),
            "kind": event.kind,
            "task_state": _TASK_STATES.get(event.type),
        }
    return data | {name: event.data[name] for name in _SHOWN if name in event.data}
