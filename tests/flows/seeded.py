"""Photos that are there without an upload, for loads of what comes after it."""

from __future__ import annotations

from uuid import UUID

from db.session import Database

_PHOTOS = """
INSERT INTO photos
    (id, owner, state, media_type, size_bytes, sha256, original_key, exif, received_at, ready_at)
SELECT gen_random_uuid(), :owner, 'ready', 'image/jpeg', 1, sha256(CAST(number AS text)::bytea),
       'originals/' || number, '{}', clock_timestamp(), clock_timestamp()
FROM generate_series(1, :count) AS number
"""
_PREVIEWS = """
INSERT INTO previews (photo_id, size, width, height, media_type, size_bytes, sha256, key)
SELECT id, 'medium', 1, 1, 'image/jpeg', 1, sha256, 'previews/' || id FROM photos WHERE owner = :owner
"""
_TASKS = """
INSERT INTO tasks (id, kind, queue, subject, state, max_attempts)
SELECT gen_random_uuid(), 'analysis', 'analysis', id, 'pending', 20 FROM photos WHERE owner = :owner
"""
_LINE = "SELECT subject FROM tasks WHERE kind = 'analysis' ORDER BY run_at, id"


def waiting_for_analysis(database: Database, count: int, owner: str = "seeded") -> list[UUID]:
    """Make so many ready photos, each with an analysis to be begun; in the order of the line."""
    with database.transaction() as tx:
        tx.execute(_PHOTOS, {"owner": owner, "count": count})
        tx.execute(_PREVIEWS, {"owner": owner})
        tx.execute(_TASKS, {"owner": owner})
        return list(tx.execute(_LINE).scalars())
