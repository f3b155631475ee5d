"""The API: takes photos, and tells how far each is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from flask import Flask, abort, request
from psycopg2.extras import RealDictCursor
from psycopg2.pool import ThreadedConnectionPool
from work import make_previews, original, read_exif

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 256 << 20
_pool = ThreadedConnectionPool(1, 10, "")  # where to, PGHOST, PGUSER and PGDATABASE say


@contextmanager
def transaction() -> Iterator[Any]:
    """A cursor in a transaction."""
    connection = _pool.getconn()
    try:
        with connection, connection.cursor(cursor_factory=RealDictCursor) as cursor:
            yield cursor
    finally:
        _pool.putconn(connection)


@app.get("/readyz")
def ready() -> dict[str, bool]:
    return {"ready": True}


@app.post("/v1/photos")
def upload() -> tuple[dict[str, str], int]:
    """Keep the photo, then have its two jobs done."""
    file, photo_id = request.files.get("file"), str(uuid4())
    if file is None:
        abort(422)
    start = file.stream.read(3)
    if start != b"\xff\xd8\xff":
        abort(415)
    file.stream.seek(0)
    path = original(photo_id)
    file.save(path, buffer_size=1 << 20)
    insert = "INSERT INTO peer_photos (id, filename, size_bytes) VALUES (%s, %s, %s)"
    with transaction() as cursor:
        cursor.execute(insert, (photo_id, file.filename, path.stat().st_size))
    make_previews.delay(photo_id)
    read_exif.delay(photo_id)
    return {"id": photo_id, "state": "processing"}, 202


@app.get("/v1/photos/<uuid:photo_id>")
def photo(photo_id: UUID) -> dict[str, Any]:
    """What is known of a photo."""
    with transaction() as cursor:
        cursor.execute("SELECT * FROM peer_photos WHERE id = %s", (str(photo_id),))
        row = cursor.fetchone()
    if row is None:
        abort(404)
    state = "failed" if row["error"] else "ready" if row["ready_at"] else "processing"
    times = {name: row[name] and row[name].isoformat() for name in ("created_at", "ready_at")}
    return {**row, **times, "state": state}
