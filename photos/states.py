"""A photo's state, from the newest task of each kind that it needs."""

from __future__ import annotations

from uuid import UUID

from db.session import Transaction
from db.tables import LIVE_STATES
from observability.metrics import PhotoMetrics
from photos.kinds import REQUIRED
from tasks.views import newest

_LOCK = "SELECT FROM photos WHERE id = :id FOR UPDATE"
_MADE = """
SELECT EXISTS (SELECT FROM previews WHERE photo_id = photos.id) AS preview, exif IS NOT NULL AS exif
FROM photos WHERE id = :id
"""
_SET_STATE = """
WITH changed AS (
    UPDATE photos
    SET state = :state, ready_at = CASE WHEN :state = 'ready' THEN clock_timestamp() END
    WHERE id = :id AND state <> :state
    RETURNING id, state, extract(epoch FROM clock_timestamp() - received_at)::float8 AS taken_s
), event AS (
    INSERT INTO events (type, subject) SELECT 'photo-' || state, id FROM changed
)
SELECT state, taken_s FROM changed
"""


class PhotoStates:
    """What `tasks` asks of its subjects (see `tasks.ending.Subjects`), for photos."""

    def __init__(self, metrics: PhotoMetrics) -> None:
        self._metrics = metrics

    def lock(self, tx: Transaction, subject: UUID) -> None:
        """Lock the photo's row: finishing and deleting lock the photo first, then its tasks."""
        tx.execute(_LOCK, {"id": subject})

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Set `photos.state` right; the photo must be locked."""
        states = {task.kind: task.state for task in newest(tx, [subject])}
        made = tx.execute(_MADE, {"id": subject}).one_or_none()
        if made is None:
            return  # deleted
        # Where there is no task (it was pruned, or discarded), what it made tells how it ended.
        ended = {kind.name: "completed" if made._mapping[kind.name] else "discarded" for kind in REQUIRED}
        state = state_from([states.get(kind.name, ended[kind.name]) for kind in REQUIRED])
        changed = tx.execute(_SET_STATE, {"id": subject, "state": state}).one_or_none()
        if changed is not None and changed.state == "ready":
            tx.after_commit(lambda: self._metrics.ready(changed.taken_s))


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
