"""A photo's state, from the newest task of each kind that it needs."""

from __future__ import annotations

from uuid import UUID

from db.session import Prepared, Transaction
from db.tables import LIVE_STATES
from observability.metrics import PhotoMetrics
from photos.kinds import OF_UPLOADS, REQUIRED
from tasks.views import newest

_LOCK = Prepared("lock_photo", "SELECT FROM photos WHERE id = :id FOR UPDATE")
_MADE = """
SELECT EXISTS (SELECT FROM previews WHERE photo_id = photos.id) AS preview, exif IS NOT NULL AS exif
FROM photos WHERE id = :id
"""
_SET_STATE = Prepared(
    "set_photo_state",
    """
WITH clock AS (
    SELECT CASE WHEN :state = 'ready' THEN clock_timestamp() END AS ready_at
), changed AS (
    UPDATE photos
    SET state = :state, ready_at = clock.ready_at, first_ready_at = coalesce(first_ready_at, clock.ready_at)
    FROM clock WHERE id = :id AND state <> :state
    RETURNING id, state, extract(epoch FROM photos.ready_at - received_at)::float8 AS taken_s,
        photos.ready_at = first_ready_at AS first
), event AS (
    INSERT INTO events (type, subject) SELECT 'photo-' || state, id FROM changed
)
SELECT taken_s, first FROM changed
""",
)


class PhotoStates:
    """What `tasks` asks of its subjects (see `tasks.ending.Subjects`), for photos."""

    def __init__(self, metrics: PhotoMetrics) -> None:
        self._metrics = metrics

    def lock(self, tx: Transaction, subject: UUID) -> None:
        """Lock the photo's row: finishing and deleting lock the photo first, then its tasks."""
        tx.execute(_LOCK, {"id": subject})

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Set `photos.state` right; the photo must be locked."""
        tasks = {task.kind: task for task in newest(tx, subject)}
        states = {kind: task.state for kind, task in tasks.items()}
        # Of a photo that was deleted meanwhile nothing is changed, here or below.
        if missing := [kind.name for kind in REQUIRED if kind.name not in states]:
            # It was pruned, or discarded: what it made tells how it ended.
            made = tx.execute(_MADE, {"id": subject}).one_or_none()
            if made is None:
                return
            states |= {name: "completed" if getattr(made, name) else "discarded" for name in missing}
        state = state_from([states[kind.name] for kind in REQUIRED])
        changed = tx.execute(_SET_STATE, {"id": subject, "state": state}).one_or_none()
        if changed is not None and changed.first:  # a photo that is processed anew was no long wait
            tx.after_commit(lambda: self._metrics.ready(changed.taken_s))
        if changed is not None and state == "failed":
            needed = [tasks[kind.name] for kind in REQUIRED if kind.name in tasks]
            errors = {task.error.type for task in needed if task.state == "failed" and task.error}
            tx.after_commit(lambda: self._metrics.failed("upload" if errors <= OF_UPLOADS else "service"))


def state_from(task_states: list[str]) -> str:
    """`ready`: all completed. `failed`: none live and one ended otherwise. Else `processing`.

    Args:
        task_states: of the newest task of each required kind.
    """
    if all(state == "completed" for state in task_states):
        return "ready"
    if any(state in LIVE_STATES for state in task_states):
        return "processing"
    return "failed"
