"""Doing tasks by hand: what the actors do, in the test's own process and when the test says so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

from prometheus_client import CollectorRegistry

from db.session import Database
from imaging.exif import read_exif
from imaging.preview import render
from observability.metrics import PhotoMetrics, TaskMetrics
from photos.kinds import ERROR_TYPES, KINDS
from photos.results import Results
from photos.states import PhotoStates
from storage.store import Store
from tasks import records
from tasks.broker import connect, make_broker
from tasks.claim import Claim
from tasks.courier import Courier
from tasks.ending import Endings
from tasks.submit import Submitter
from tasks.work import Work

_QUEUED = "SELECT id FROM tasks WHERE subject = :subject AND kind = :kind AND state = 'queued'"
_PUBLISH = """
UPDATE tasks
SET state = 'queued', run_at = statement_timestamp(), queued_at = statement_timestamp(),
    sent_at = statement_timestamp(), dispatch = dispatch + 1, published = dispatch + 1
WHERE subject = :subject AND kind = :kind AND state = 'pending' AND run_at > statement_timestamp()
  AND token = 0
"""


class Hand:
    """Finishes a photo's tasks, or fails them, one call each.

    Attributes:
        registry: what was measured meanwhile.
    """

    def __init__(self, database: Database, store: Store, redis_url: str) -> None:
        self.registry = CollectorRegistry()
        self.results = Results(database, store, PhotoMetrics(self.registry))
        self.states = PhotoStates(PhotoMetrics(CollectorRegistry()))
        self._database = database
        metrics = TaskMetrics(self.registry, kinds=KINDS, error_types=ERROR_TYPES)
        courier = Courier(make_broker(connect(redis_url)))
        self.submitter = Submitter(courier, KINDS, window=1000)
        endings = Endings(database, courier, self.submitter, self.states, metrics)
        alone = {name: replace(kind, along_with=None) for name, kind in KINDS.items()}
        self.work = Work(database, endings, alone, metrics, worker="by-hand", lease_s=60)

    def previews(self, photo_id: UUID | str) -> None:
        """Make and store the photo's previews."""
        with self.work.claimed("preview", self.task(photo_id, "preview")) as claim:
            with self.results.original(claim.subject) as path:
                rendering = render(path, max_pixels=10_000_000)
            with self.results.stored_previews(claim.subject, claim.token, rendering) as stored:
                claim.complete(partial(self._save_previews, claim, rendering, stored))

    def exif(self, photo_id: UUID | str) -> None:
        """Read and store the photo's metadata."""
        with self.work.claimed("exif", self.task(photo_id, "exif")) as claim:
            metadata = self.results.metadata(claim.subject, read_exif)
            claim.complete(lambda tx: self.results.save_exif(tx, claim.subject, metadata))

    def finish(self, photo_id: UUID | str) -> None:
        """Everything that the photo needs."""
        self.previews(photo_id)
        self.exif(photo_id)

    def fail(self, photo_id: UUID | str, kind: str, *, error_type: str, detail: str) -> None:
        """Have a task of the photo fail for good."""
        with self.work.claimed(kind, self.task(photo_id, kind)) as claim:
            self.work.fail(claim, records.Failure(error_type, detail))

    def again(self, photo_id: UUID | str, kind: str) -> None:
        """Submit a task of the photo once more."""
        with self._database.transaction() as tx:
            self.submitter.submit(tx, kind, UUID(str(photo_id)))

    def _save_previews(self, claim: Claim, rendering, stored, tx) -> None:  # type: ignore[no-untyped-def]
        self.results.save_previews(tx, claim.subject, rendering, stored)

    def task(self, photo_id: UUID | str, kind: str) -> str:
        """The id of a photo's queued task; one that waits to be taken along is published first."""
        given = {"subject": str(photo_id), "kind": kind}
        with self._database.transaction() as tx:
            tx.execute(_PUBLISH, given)
            return str(tx.execute(_QUEUED, given).scalar_one())
