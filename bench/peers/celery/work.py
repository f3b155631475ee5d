"""The worker: previews from one decode, each size from the one before; metadata apart. Both are retried."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import exifread
import psycopg2
from celery import Celery, Task
from exifread.utils import get_gps_coords
from PIL import Image, ImageOps

SIZES = (("large", 2048), ("medium", 1280), ("small", 320))
DATA = Path(os.environ["DATA"])
for _name in ("originals", "previews"):
    (DATA / _name).mkdir(exist_ok=True)

app = Celery("work", broker=f"redis+socket://{os.environ['REDIS_SOCKET']}")
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
)
_MAX_RETRIES = 4


class PhotoTask(Task):
    """A job of one photo: retried with exponential backoff and jitter; at last the photo has failed."""

    autoretry_for = (Exception,)
    max_retries = _MAX_RETRIES
    retry_backoff = 2
    retry_jitter = True

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        execute("UPDATE peer_photos SET error = %s WHERE id = %s", (str(exc), args[0]))


def original(photo_id: str) -> Path:
    return DATA / "originals" / f"{photo_id}.jpg"


@app.task(base=PhotoTask, name="previews")
def make_previews(photo_id: str) -> None:
    """Scale before turning: there is less to turn then."""
    with Image.open(original(photo_id)) as picture:
        fitted = _fitted(picture.size, SIZES[0][1])
        picture.draft("RGB", fitted)
        scaled = picture.resize(fitted, Image.Resampling.LANCZOS, reducing_gap=2.0)
        shown = ImageOps.exif_transpose(scaled).convert("RGB")
    shown.info.clear()
    previews = []
    for size, edge in SIZES:
        shown.thumbnail((edge, edge), Image.Resampling.LANCZOS)
        path = DATA / "previews" / f"{photo_id}-{size}.jpg"
        shown.save(path, "JPEG", quality=80, subsampling="4:2:0")
        previews.append(
            {"size": size, "width": shown.width, "height": shown.height, "size_bytes": path.stat().st_size}
        )
    execute(
        "UPDATE peer_photos SET previews = %s,"
        " ready_at = CASE WHEN exif IS NOT NULL THEN clock_timestamp() END WHERE id = %s",
        (json.dumps(previews), photo_id),
    )


@app.task(base=PhotoTask, name="exif")
def read_exif(photo_id: str) -> None:
    """All tags as text, and where the photo was taken in degrees."""
    with original(photo_id).open("rb") as file:
        tags = exifread.process_file(file, details=False)
    exif: dict[str, Any] = {name: str(tag) for name, tag in tags.items()}
    if place := get_gps_coords(tags):
        exif |= {"latitude": place[0], "longitude": place[1]}
    execute(
        "UPDATE peer_photos SET exif = %s,"
        " ready_at = CASE WHEN previews IS NOT NULL THEN clock_timestamp() END WHERE id = %s",
        (json.dumps(exif), photo_id),
    )


def execute(statement: str, values: tuple[Any, ...]) -> None:
    """One statement, one transaction."""
    connection = _connection(os.getpid())
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(statement, values)
    except psycopg2.OperationalError:
        _connection.cache_clear()  # it is away: the retry connects anew
        raise


@cache
def _connection(_pid: int) -> Any:
    """One for each prefork process."""
    return psycopg2.connect("")  # where to, PGHOST, PGUSER and PGDATABASE say


def _fitted(size: tuple[int, int], edge: int) -> tuple[int, int]:
    scale = min(1.0, edge / max(size))
    return round(size[0] * scale), round(size[1] * scale)
