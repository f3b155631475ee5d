"""Asking the remote service about a photo: what it is told, when it is asked again, when it is given up."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import select

from db.session import Database
from db.tables import LIVE_STATES, photos, previews
from photos.analysis import Analyses
from photos.errors import NotMadeYet, NotToBeHad, PhotoNotFound
from photos.kinds import EXIF, PREVIEW, REMOTE_TIMEOUT
from photos.sharing import Sharing
from remote.answer import Answer
from storage.store import Store
from tasks.errors import DependencyAway
from tasks.records import Claimed, Failure
from tasks.views import newest

if TYPE_CHECKING:
    from remote.service import Service

# Where the service doesn't say when it wants to be asked again: 5 s, growing to 60 s.
_FIRST_S, _LONGEST_S = 5.0, 60.0
# Whatever it says, this is the soonest.
_SOONEST_S = 0.1
_TOLD = [photos.c[name] for name in ("id", "media_type", "size_bytes", "width", "height", "exif")]
_PREVIEW = "medium"


class Asking:
    """Asks, for the worker.

    Args:
        service: None where none is configured: the tasks wait then.
        send: `metadata`; `preview`, the medium preview too; `url`, a link to that. Never the original.
        sharing: makes that link.
        polls: answers without an end after which a run is given up.
        deadline_s: how long after its first attempt a run may find it not yet done.
    """

    def __init__(
        self,
        database: Database,
        store: Store,
        analyses: Analyses,
        service: Service | None,
        *,
        send: str,
        sharing: Sharing,
        polls: int,
        deadline_s: float,
    ) -> None:
        self._database = database
        self._store = store
        self._analyses = analyses
        self._service = service
        self._send = send
        self._sharing = sharing
        self._polls = polls
        self._deadline_s = deadline_s

    def answer(self, photo_id: UUID, run: UUID) -> Answer:
        """Ask once: for the run's operation if it has one, else by the whole question.

        Raises:
            remote.errors.RemoteError
            NotMadeYet, NotToBeHad: something that is to be sent.
            PhotoNotFound, DependencyAway, ObjectMissing, StoreAway, DatabaseAway
        """
        if self._service is None:
            raise DependencyAway("no analysis service is configured for this worker")
        if (url := self._analyses.operation_url(photo_id, run)) is not None:
            return self._service.poll(url)
        return self._service.submit(self._question(photo_id), key=str(run))

    def used_up(self, task: Claimed) -> Failure | None:
        """Why a run that isn't done yet is given up, if it is."""
        if task.polls + 1 >= self._polls:
            return Failure(REMOTE_TIMEOUT, f"the service wasn't done after {self._polls} polls")
        if task.age_s >= self._deadline_s:
            return Failure(REMOTE_TIMEOUT, f"the service wasn't done after {self._deadline_s:.0f} s")
        return None

    def _question(self, photo_id: UUID) -> dict[str, Any]:
        with self._database.transaction() as tx:
            photo = tx.execute(select(*_TOLD).where(photos.c.id == photo_id)).one_or_none()
            if photo is None:
                raise PhotoNotFound(str(photo_id))
            made = select(previews).where(previews.c.photo_id == photo_id, previews.c.size == _PREVIEW)
            preview = tx.execute(made).one_or_none()
            live = {task.kind for task in newest(tx, photo_id) if task.state in LIVE_STATES}
        if photo.exif is None and EXIF.name in live:
            raise NotMadeYet("the photo's metadata is being read")
        question: dict[str, Any] = {"photo": {**photo._asdict(), "id": str(photo.id)}}
        if self._send != "metadata":
            if preview is None and PREVIEW.name in live:
                raise NotMadeYet("the photo's previews are being made")
            if preview is None:
                raise NotToBeHad("the photo has no preview that could be sent")
            question["preview"] = {"media_type": preview.media_type, **self._preview(photo_id, preview.key)}
        return question

    def _preview(self, photo_id: UUID, key: str) -> dict[str, str]:
        if self._send == "url":
            return {"url": self._sharing.link(photo_id)}
        return {"data_base64": base64.b64encode(self._store.get(key)).decode()}


def next_poll_s(answer: Answer, polls: int) -> float:
    """How long to wait before the service is asked again, after `polls` answers before this one."""
    if answer.retry_after_s is not None:
        return max(answer.retry_after_s, _SOONEST_S)
    return min(_LONGEST_S, _FIRST_S * 2.0 ** min(polls, 10))
