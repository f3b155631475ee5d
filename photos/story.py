"""A photo's whole story, from the events, tasks and attempts that are kept of it; rows in, moments out."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from db.session import Database
from db.tables import LIVE_STATES
from db.transaction import Transaction
from tasks import views

_PHOTO_OF = """
SELECT id AS photo_id FROM photos WHERE id = :id
UNION SELECT subject FROM tasks WHERE id = :id OR subject = :id
UNION SELECT subject FROM events WHERE subject = :id OR task_id = :id
LIMIT 1
"""
_PHOTO = """
SELECT created_at, filename, media_type, size_bytes,
       extract(epoch FROM created_at - received_at)::float8 AS upload_s
FROM photos WHERE id = :id
"""
_EVENTS = """
SELECT created_at AS at, type, task_id, kind, data FROM events WHERE subject = :id ORDER BY created_at, id
"""
_ENDS = ("task-completed", "task-failed", "task-retried", "task-snoozed", "task-cancelled")


@dataclass(frozen=True)
class Moment:
    """Something that happened to a photo, or to one of its tasks.

    Attributes:
        event: what happened, such as `photo-accepted` or `task-retried`; `task-is-pending` and the like stand
            last, for tasks that are still to end.
        details: what is known of it; names with `_s` are seconds.
    """

    at: datetime
    event: str
    kind: str | None = None
    task_id: UUID | None = None
    details: dict[str, Any] = field(default_factory=dict)
    traceback: str | None = None


@dataclass(frozen=True)
class Story:
    """A photo's moments, the first first; never none."""

    photo_id: UUID
    moments: tuple[Moment, ...]


class Stories:
    """Tells what is still known of a photo: after its deletion too, until its events are pruned."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tell(self, identity: UUID) -> Story:
        """The story of a photo, or of the one that a task is about.

        Raises:
            LookupError: nothing is known of such an id.
            DatabaseAway
        """
        with self._database.transaction() as tx:
            photo_id = tx.execute(_PHOTO_OF, {"id": identity}).scalar_one_or_none()
            if photo_id is None:
                raise LookupError(f"there is no photo and no task {identity}")
            return Story(photo_id, tuple(_moments(tx, photo_id)))


def _moments(tx: Transaction, photo_id: UUID) -> list[Moment]:
    tasks = views.of_subject(tx, photo_id)
    photo = tx.execute(_PHOTO, {"id": photo_id}).one_or_none()
    moments = _told(
        tx.execute(_EVENTS, {"id": photo_id}),
        {task.id: deque(views.attempts(tx, task.id)) for task in tasks},
        {task.id: task.trace_id for task in tasks},
    )
    if photo is not None:
        _add_photo(moments, photo)
    now = tx.execute("SELECT clock_timestamp()").scalar_one()
    moments += [_to_end(task, now) for task in tasks if task.state in LIVE_STATES]
    return moments


def _told(
    events: Iterable[Row[Any]],
    attempts: dict[UUID, deque[views.AttemptView]],
    traces: dict[UUID, str | None],
) -> list[Moment]:
    """The events as moments. A task's claims are its attempts, one after the other."""
    moments = []
    in_hand: dict[UUID, views.AttemptView] = {}
    left: dict[UUID, deque[views.AttemptView]] = defaultdict(deque, attempts)
    for event in events:
        details, traceback = dict(event.data), None
        if event.type == "task-submitted":
            details |= {"task_id": event.task_id, "trace_id": traces.get(event.task_id)}
        elif event.type == "task-started" and left[event.task_id]:
            attempt = in_hand[event.task_id] = left[event.task_id].popleft()
            details |= {"attempt": attempt.number, "worker": attempt.worker}
        elif event.type in _ENDS and event.task_id in in_hand:
            attempt = in_hand.pop(event.task_id)
            details, traceback = _ended(attempt, details, event.at), attempt.traceback
        known = {name: value for name, value in details.items() if value is not None}
        moments.append(Moment(event.at, event.type, event.kind, event.task_id, known, traceback))
    return moments


def _ended(attempt: views.AttemptView, data: dict[str, Any], at: datetime) -> dict[str, Any]:
    details = {"attempt": attempt.number, "ran_s": _seconds(attempt.started_at, attempt.finished_at or at)}
    if "run_at" in data:
        details["again_in_s"] = _seconds(at, datetime.fromisoformat(data.pop("run_at")))
    return {**details, **data, "error_type": attempt.error_type, "error": attempt.error_detail}


def _add_photo(moments: list[Moment], photo: Row[Any]) -> None:
    """What the photo's own row says of its beginning, in case the event is gone, or to complete it."""
    row = {"size_bytes": photo.size_bytes, "media_type": photo.media_type}
    if photo.filename is not None:
        row["filename"] = photo.filename
    for moment in moments:
        if moment.event == "photo-accepted":
            moment.details.update({**row, **moment.details, "upload_s": round(photo.upload_s, 3)})
            return
    moments.insert(0, Moment(photo.created_at, "photo-accepted", details=row))


def _to_end(task: views.TaskView, now: datetime) -> Moment:
    details: dict[str, Any] = {"task_id": task.id, "attempts": f"{task.attempts} of {task.max_attempts}"}
    if task.state == "pending":
        details["due_in_s"] = _seconds(now, task.run_at)
    return Moment(now, f"task-is-{task.state}", task.kind, task.id, details)


def _seconds(since: datetime, until: datetime) -> float:
    return round((until - since).total_seconds(), 3)
