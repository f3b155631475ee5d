"""Making a photo's previews and metadata anew; what there is of them stays until it is replaced."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import select

from db.session import Database
from db.tables import photos
from photos.errors import PhotoNotFound
from photos.states import PhotoStates
from tasks.submit import Submitter


class Reprocessing:
    """Submits a photo's tasks once more."""

    def __init__(self, database: Database, submitter: Submitter, states: PhotoStates) -> None:
        self._database = database
        self._submitter = submitter
        self._states = states

    def reprocess(self, photo_id: UUID, kinds: Iterable[str], *, owner: str) -> None:
        """Submit a task of each kind; a live one is joined, and runs once more if it is in hand.

        Raises:
            PhotoNotFound, DatabaseAway
        """
        mine = (photos.c.id == photo_id) & (photos.c.owner == owner)
        with self._database.transaction() as tx:
            if tx.execute(select(photos.c.id).where(mine).with_for_update()).one_or_none() is None:
                raise PhotoNotFound(f"there is no photo {photo_id}")
            for kind in kinds:
                self._submitter.submit(tx, kind, photo_id)
            self._states.settle(tx, photo_id)
