"""Taking in a photo: its bytes go to the store as they come, then its row and its tasks are committed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from typing import Any
from uuid import uuid4

from sqlalchemy import Row

from db.prepared import Prepared
from db.session import Database
from db.transaction import Transaction
from imaging.formats import HEAD_BYTES, sniff
from observability.metrics import PhotoMetrics
from photos.errors import EmptyUpload, UploadTooLarge, UploadTooSlow
from photos.filenames import tidy
from photos.idempotency import Reservation
from photos.kinds import REQUIRED
from photos.photo import Accepted
from storage.errors import StoreAway
from storage.store import Store
from tasks import states
from tasks.submit import Submitter

# S3 dates an object from the beginning of its upload, and the sweep goes by that date: the row must be there
# long before the object is an hour old.
LONGEST_S = 45 * 60.0

_ACCEPT = Prepared(
    "accept_photo",
    """
WITH accepted AS (
    INSERT INTO photos (id, owner, state, filename, media_type, size_bytes, sha256, original_key, received_at)
    VALUES (:id, :owner, 'processing', :filename, :media_type, :size_bytes, :sha256, :original_key,
            clock_timestamp() - make_interval(secs => :elapsed_s))
    ON CONFLICT (owner, sha256) DO NOTHING
    RETURNING id
)
INSERT INTO events (type, subject, data) SELECT 'photo-accepted', id, :data FROM accepted RETURNING subject
""",
)
_SAME = "SELECT id, size_bytes, original_key FROM photos WHERE owner = :owner AND sha256 = :sha256"
_HEAL = """
WITH healed AS (
    UPDATE photos
    SET original_key = :original_key, received_at = clock_timestamp() - make_interval(secs => :elapsed_s),
        state = 'processing', ready_at = NULL, first_ready_at = NULL
    WHERE id = :id AND original_key = :lost_key
    RETURNING id
)
INSERT INTO events (type, subject, data)
SELECT 'photo-healed', id, CAST(:data AS jsonb) FROM healed RETURNING subject
"""


class Upload:
    """A file that is being uploaded: written to, it streams to the store and into a hash.

    No more than a few chunks are ever in memory. What is refused is refused as early as its first bytes
    show it.
    """

    def __init__(self, store: Store, *, max_bytes: int) -> None:
        self.key = f"originals/{(identity := uuid4().hex)[:2]}/{identity}"
        self.size_bytes = 0
        self.media_type: str | None = None
        self._max_bytes = max_bytes
        self._begun_s = time.monotonic()
        self._head = bytearray()
        self._sha256 = hashlib.sha256()
        self._writer = store.writer(self.key)

    def write(self, data: bytes) -> int:
        """Take the next bytes.

        Raises:
            imaging.errors.ImagingError: the first bytes show that it is no photo.
            UploadTooLarge, UploadTooSlow, StoreAway
        """
        if self.elapsed_s > LONGEST_S:
            raise UploadTooSlow(f"it isn't whole after {LONGEST_S / 60:.0f} minutes")
        self.size_bytes += len(data)
        if self.size_bytes > self._max_bytes:
            raise UploadTooLarge(f"the file is larger than {self._max_bytes:,} bytes")
        if self.media_type is None:
            self._head += data[: HEAD_BYTES - len(self._head)]
            if len(self._head) >= HEAD_BYTES:
                self.media_type = sniff(bytes(self._head))
        self._sha256.update(data)
        return self._writer.write(data)

    @property
    def sha256(self) -> bytes:
        """Of all that was written."""
        return self._sha256.digest()

    def finish(self) -> None:
        """All bytes have come: make the object durable.

        Raises:
            EmptyUpload, StoreAway
            imaging.errors.ImagingError: it is no photo.
        """
        if not self.size_bytes:
            raise EmptyUpload("the file is empty")
        if self.media_type is None:
            self.media_type = sniff(bytes(self._head))
        self._writer.close()

    def abort(self) -> None:
        """Leave nothing of it in the store."""
        self._writer.abort()

    @property
    def elapsed_s(self) -> float:
        """Seconds since its first byte."""
        return time.monotonic() - self._begun_s


class Intake:
    """Accepts photos, so that none that was accepted can be lost.

    Order matters: the original is durable in the store, under a key that is used once; then photo,
    tasks and event are committed together; then the messages are sent. If the commit's outcome is
    unknown nothing is deleted.
    """

    def __init__(
        self, database: Database, store: Store, submitter: Submitter, metrics: PhotoMetrics, *, max_bytes: int
    ) -> None:
        self._database = database
        self._store = store
        self._submitter = submitter
        self._metrics = metrics
        self._max_bytes = max_bytes

    def upload(self) -> Upload:
        """Begin an upload."""
        return Upload(self._store, max_bytes=self._max_bytes)

    def reserve(self, key: str, *, owner: str) -> Reservation:
        """Take hold of an idempotency key, before the body is read.

        Raises:
            KeyInUse, DatabaseAway
        """
        return Reservation(self._database, owner=owner, key=key)

    def accept(
        self, upload: Upload, *, owner: str, filename: str | None, reservation: Reservation | None = None
    ) -> Accepted:
        """Make a finished upload a photo of `owner`, or find the one with the same bytes.

        Raises:
            EmptyUpload, StoreAway, DatabaseAway, KeyInUse, KeyReused
            imaging.errors.ImagingError: it is no photo.
        """
        if reservation is not None and (earlier := reservation.answered(upload.sha256)) is not None:
            return earlier
        upload.finish()
        with self._database.transaction() as tx:
            accepted = self._insert(tx, upload, owner, filename)
            if accepted.created or accepted.healed:
                self._submitter.submit_each(tx, [kind.name for kind in REQUIRED], accepted.id)
            if reservation is not None:
                reservation.answer(tx, upload.sha256, accepted)
        if accepted.created or accepted.healed:
            self._metrics.uploaded(upload.size_bytes)
        else:
            with contextlib.suppress(StoreAway):  # the sweep takes what stays
                self._store.delete(upload.key)
        return accepted

    def _insert(self, tx: Transaction, upload: Upload, owner: str, filename: str | None) -> Accepted:
        values = {
            "id": uuid4(),
            "owner": owner,
            "filename": tidy(filename),
            "media_type": upload.media_type,
            "size_bytes": upload.size_bytes,
            "sha256": upload.sha256,
            "original_key": upload.key,
            "elapsed_s": upload.elapsed_s,
            "data": json.dumps(
                {**states.origin(), "size_bytes": upload.size_bytes, "media_type": upload.media_type}
            ),
        }
        while True:
            if (created := tx.execute(_ACCEPT, values).scalar_one_or_none()) is not None:
                return Accepted(created, created=True)
            if (existing := tx.execute(_SAME, values).one_or_none()) is not None:
                return Accepted(existing.id, created=False, healed=self._heals(tx, values, existing))
            # It was deleted between the two statements: insert again.

    def _heals(self, tx: Transaction, values: dict[str, Any], existing: Row[Any]) -> bool:
        """Put the new bytes in the place of an original that isn't in the store any more, if it isn't."""
        if self._store.size_bytes(existing.original_key) == existing.size_bytes:
            return False
        # The store was asked before the row is locked: it may take its time to answer.
        lost = {"id": existing.id, "lost_key": existing.original_key}
        return tx.execute(_HEAL, {**values, **lost}).one_or_none() is not None
