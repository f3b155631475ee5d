"""What the workers made of a photo: previews to the store, then rows in the task's transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from uuid import UUID, uuid4

from db.prepared import Prepared
from db.session import Database
from db.transaction import Transaction
from imaging.partial import BytesMissing
from imaging.results import Metadata, Rendering
from observability.metrics import PhotoMetrics
from photos.errors import PhotoNotFound
from storage.errors import ObjectMissing
from storage.store import Store
from tasks.errors import LeaseLost


@dataclass(frozen=True)
class StoredPreview:
    """A preview's row; its object is in the store under `key`, as are sizes with the same bytes."""

    size: str
    width: int
    height: int
    media_type: str
    size_bytes: int
    sha256: bytes
    key: str


_ORIGINAL = Prepared("original_of", "SELECT original_key FROM photos WHERE id = :id")
_KEEP_PREVIEWS = Prepared(
    "keep_previews",
    """
WITH old AS (
    SELECT key FROM previews WHERE photo_id = :photo_id
), gone AS (
    DELETE FROM previews WHERE photo_id = :photo_id AND size <> ALL(CAST(:size AS text[]))
), made AS (
    INSERT INTO previews (photo_id, size, width, height, media_type, size_bytes, sha256, key)
    SELECT :photo_id, * FROM unnest(
        CAST(:size AS text[]), CAST(:width AS int[]), CAST(:height AS int[]), CAST(:media_type AS text[]),
        CAST(:size_bytes AS int[]), CAST(:sha256 AS bytea[]), CAST(:key AS text[]))
    ON CONFLICT (photo_id, size) DO UPDATE SET
        width = excluded.width, height = excluded.height, media_type = excluded.media_type,
        size_bytes = excluded.size_bytes, sha256 = excluded.sha256, key = excluded.key
), photo AS (
    UPDATE photos
    SET width = :photo_width, height = :photo_height, placeholder = :placeholder, warnings = :warnings
    WHERE id = :photo_id
)
SELECT DISTINCT key FROM old
""",
)
_KEEP_EXIF = Prepared("keep_exif", "UPDATE photos SET exif = :fields, exif_raw = :raw WHERE id = :photo_id")
# After so many parts of an original (a PNG keeps texts behind its picture) the rest comes at once.
_PARTS = 6


class Results:
    """Reads originals for the workers, and keeps what they made."""

    def __init__(self, database: Database, store: Store, metrics: PhotoMetrics) -> None:
        self._database = database
        self._store = store
        self._metrics = metrics

    @contextmanager
    def original(self, photo_id: UUID) -> Iterator[Path]:
        """The original as a file to read within the block.

        Raises:
            PhotoNotFound: it was deleted.
            ObjectMissing, StoreAway, DatabaseAway
        """
        with self._store.local_file(self._original_key(photo_id)) as path, _while_it_is_there(path):
            yield path

    def metadata(
        self, photo_id: UUID, read: Callable[[Path, list[tuple[int, int]] | None], Metadata]
    ) -> Metadata:
        """What is read of the original's headers; if it is far away only those come here.

        Args:
            read: as `imaging.jobs.read_exif`.

        Raises:
            PhotoNotFound: it was deleted.
            ObjectMissing, StoreAway, DatabaseAway
        """
        with self._store.partial_file(self._original_key(photo_id)) as file, _while_it_is_there(file.path):
            for _ in range(_PARTS):
                try:
                    return read(file.path, file.present)
                except BytesMissing as error:
                    file.fill(error.part)
            file.fill()
            return read(file.path, file.present)

    def _original_key(self, photo_id: UUID) -> str:
        with self._database.statement() as tx:
            key: str | None = tx.execute(_ORIGINAL, {"id": photo_id}).scalar_one_or_none()
        if key is None:
            raise PhotoNotFound(str(photo_id))
        return key

    @contextmanager
    def stored_previews(
        self, photo_id: UUID, token: int, rendering: Rendering
    ) -> Iterator[list[StoredPreview]]:
        """Previews put into the store for the block to commit; if the task is lost, they go again.

        No two attempts share a key: a token is one task's, and a photo has several tasks in its life.
        Where the outcome of the block's commit is unknown the objects stay, and the sweep decides.

        Raises:
            StoreAway
        """
        stored = self._store_previews(photo_id, token, rendering)
        try:
            yield stored
        except LeaseLost:
            for key in {preview.key for preview in stored}:
                self._store.delete(key)
            raise

    def _store_previews(self, photo_id: UUID, token: int, rendering: Rendering) -> list[StoredPreview]:
        stored: list[StoredPreview] = []
        attempt = f"{token}-{uuid4().hex[:12]}"
        objects: dict[bytes, tuple[bytes, str]] = {}
        for preview in rendering.previews:
            if preview.data not in objects:
                key = f"previews/{photo_id.hex[:2]}/{photo_id.hex}.{attempt}.{preview.size}"
                self._store.put(key, preview.data, media_type=preview.media_type)
                objects[preview.data] = hashlib.sha256(preview.data).digest(), key
            sha256, key = objects[preview.data]
            stored.append(
                StoredPreview(
                    preview.size,
                    preview.width,
                    preview.height,
                    preview.media_type,
                    len(preview.data),
                    sha256,
                    key,
                )
            )
        return stored

    def save_previews(
        self, tx: Transaction, photo_id: UUID, rendering: Rendering, stored: list[StoredPreview]
    ) -> None:
        """Replace the photo's previews; the old ones' objects go once this is committed."""
        made = {
            "photo_width": rendering.width,
            "photo_height": rendering.height,
            "placeholder": rendering.placeholder,
            "warnings": list(rendering.warnings),
        }
        columns = {
            each.name: [getattr(preview, each.name) for preview in stored] for each in fields(StoredPreview)
        }
        old_keys = tx.execute(_KEEP_PREVIEWS, {"photo_id": photo_id, **made, **columns}).scalars()
        tx.after_commit(lambda: self._metrics.previewed(rendering.width * rendering.height))
        for key in old_keys:
            tx.after_commit(lambda key=key: self._store.delete(key))  # type: ignore[misc]

    def save_exif(self, tx: Transaction, photo_id: UUID, metadata: Metadata) -> None:
        """Replace the photo's metadata."""
        found = {"fields": json.dumps(metadata.fields), "raw": json.dumps(metadata.raw)}
        tx.defer(_KEEP_EXIF, {"photo_id": photo_id, **found})


@contextmanager
def _while_it_is_there(path: Path) -> Iterator[None]:
    """Tell of an original that goes while it is being read: the photo was deleted."""
    try:
        yield
    except FileNotFoundError as error:
        if path.exists():
            raise
        raise ObjectMissing("the original went while it was being read") from error
