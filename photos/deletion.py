"""Deleting a photo: its row and tasks in one transaction, then its objects."""

from __future__ import annotations

import logging
from uuid import UUID

from sqlalchemy import delete, select

from db.session import Database
from db.tables import events, photos, previews
from db.transaction import Transaction
from photos.errors import PhotoNotFound
from storage.errors import StoreAway
from storage.store import Store
from tasks import states

logger = logging.getLogger(__name__)


class Deletion:
    """Deletes photos; what stays in the store if it is away then, the sweep takes."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store

    def delete(self, photo_id: UUID, *, owner: str) -> None:
        """Delete a photo, cancel its tasks, discard its failed ones, remove its files.

        Raises:
            PhotoNotFound, DatabaseAway
        """
        with self._database.transaction() as tx:
            keys = _delete(tx, photo_id, owner)
        for key in keys:
            try:
                self._store.delete(key)
            except StoreAway as error:
                logger.warning("a deleted photo's object stays for the sweep: %s", error)


def _delete(tx: Transaction, photo_id: UUID, owner: str) -> list[str]:
    # The photo is locked first, then its tasks: the order in which finishing a task locks them.
    mine = (photos.c.id == photo_id) & (photos.c.owner == owner)
    original_key = tx.execute(
        select(photos.c.original_key).where(mine).with_for_update()
    ).scalar_one_or_none()
    if original_key is None:
        raise PhotoNotFound(f"there is no photo {photo_id}")
    made = select(previews.c.key).where(previews.c.photo_id == photo_id).distinct()
    keys = list(tx.execute(made).scalars())
    states.abandon(tx, photo_id)
    tx.execute(delete(photos).where(photos.c.id == photo_id))
    told = {**states.origin(), "owner": owner}  # nothing else says any more whose it was
    tx.execute(events.insert().values(type="photo-deleted", subject=photo_id, data=told))
    return [original_key, *keys]
