"""Photos as rows alone, put straight into the database: many of them in a moment."""

from __future__ import annotations

from db.session import Database
from tests.stack import Stack

_PHOTOS = """
INSERT INTO photos (id, owner, state, filename, media_type, size_bytes, sha256, original_key,
                    width, height, placeholder, exif, received_at, created_at, ready_at)
SELECT gen_random_uuid(), :owner, 'ready', 'IMG_' || lpad(number::text, 5, '0') || '.jpg', 'image/jpeg',
       5000000, sha256(CAST(:owner || number AS text)::bytea), :owner || number,
       6000, 4000, decode('3OcRJYB4d3h/iIeHeEh3eIhw+j3A', 'base64'),
       '{"make": "Canon", "model": "Canon EOS R5", "iso": 400, "taken_at": "2024-02-29T12:00:00"}',
       clock_timestamp(), clock_timestamp() - number * interval '1 minute', clock_timestamp()
FROM generate_series(0, :count - 1) AS number
"""


def insert_photos(stack: Stack, owner: str, count: int) -> None:
    """So many photos are the owner's, ready, a minute apart, and without files; `IMG_00000.jpg` is newest."""
    database = Database(stack.settings.database_url, application_name="tests-rows")
    with database.transaction() as tx:
        tx.execute(_PHOTOS, {"owner": owner, "count": count})
    database.close()
