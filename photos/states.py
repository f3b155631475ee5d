"""A photo's state, from the newest task of each kind that it needs."""

from __future__ import annotations

from uuid import UUID

from db.prepared import Prepared
from db.transaction import Transaction
from observability.metrics import PhotoMetrics
from photos.kinds import EXIF, OF_UPLOADS, PREVIEW, REQUIRED
from tasks.statements import LIVE
from tasks.views import newest_of

_LOCK = Prepared(
    "lock_photos", "SELECT FROM photos WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE"
)
# Of a kind whose task was pruned, or discarded, what it made tells how it ended.
_MADE = {
    PREVIEW.name: "EXISTS (SELECT FROM previews WHERE photo_id = photos.id)",
    EXIF.name: "photos.exif IS NOT NULL",
}
_REQUIRED = ", ".join(f"('{kind.name}', {_MADE[kind.name]})" for kind in REQUIRED)
# `ready`: all completed. `failed`: none live and one ended otherwise. Else `processing`.
_SETTLE = Prepared(
    "settle_photo",
    f"""
WITH newest AS MATERIALIZED ({newest_of(":id")}
), needed AS (
    SELECT newest.error_type,
           coalesce(newest.state, CASE WHEN required.made THEN 'completed' ELSE 'discarded' END) AS state
    FROM photos CROSS JOIN LATERAL (VALUES {_REQUIRED}) AS required (kind, made)
    LEFT JOIN newest ON newest.kind = required.kind
    WHERE photos.id = :id
), found AS (
    SELECT CASE WHEN bool_and(state = 'completed') THEN 'ready'
                WHEN bool_or(state IN ({LIVE})) THEN 'processing' ELSE 'failed' END AS state,
           array_agg(error_type) FILTER (WHERE state = 'failed' AND error_type IS NOT NULL) AS errors
    FROM needed HAVING count(*) > 0
), clock AS (
    SELECT found.state, CASE WHEN state = 'ready' THEN clock_timestamp() END AS ready_at FROM found
), changed AS (
    UPDATE photos
    SET state = clock.state, ready_at = clock.ready_at,
        first_ready_at = coalesce(first_ready_at, clock.ready_at)
    FROM clock WHERE id = :id AND photos.state <> clock.state
    RETURNING id, photos.state, extract(epoch FROM photos.ready_at - received_at)::float8 AS taken_s,
        photos.ready_at = first_ready_at AS first
), event AS (
    INSERT INTO events (type, subject) SELECT 'photo-' || state, id FROM changed
)
SELECT changed.state, taken_s, first, errors FROM changed, found
""",  # noqa: S608
)


class PhotoStates:
    """What `tasks` asks of its subjects (see `tasks.ending.Subjects`), for photos."""

    def __init__(self, metrics: PhotoMetrics) -> None:
        self._metrics = metrics

    def lock(self, tx: Transaction, *subjects: UUID) -> None:
        """Lock the photos' rows, with the next statement: whoever changes a photo's tasks locks it first."""
        tx.defer(_LOCK, {"ids": list(subjects)})

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Set `photos.state` right; the photo must be locked."""
        changed = tx.execute(_SETTLE, {"id": subject}).one_or_none()
        if changed is None:
            return
        if changed.first:  # a photo that is processed anew was no long wait
            tx.after_commit(lambda: self._metrics.ready(changed.taken_s))
        if changed.state == "failed":
            fault = "upload" if OF_UPLOADS.issuperset(changed.errors or ()) else "service"
            tx.after_commit(lambda: self._metrics.failed(fault))
