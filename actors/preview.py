"""When previews are made: every size of one photo, from a single decode."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import dramatiq

from actors.rooms import Rooms
from imaging.jobs import read_exif, render
from imaging.sandbox import Slot
from photos.kinds import PREVIEW
from tasks.ending import Save
from tasks.work import Claim

logger = logging.getLogger(__name__)

# It takes a few milliseconds. What takes longer has its own time, and doesn't take it from the previews'.
_ALONG_S = 5.0


def declare(broker: dramatiq.Broker, rooms: Rooms) -> None:
    """Declare the actor that makes and stores a photo's previews.

    Where the photo's metadata is still to be read (`photos.kinds.EXIF`) it does that as well, since it has
    the file: queue, database and decoder are asked once for both.
    """

    @dramatiq.actor(broker=broker, actor_name=PREVIEW.name, queue_name=PREVIEW.name)
    def make_previews(task_id: str) -> None:
        # its time runs from the claim: whoever waits for a decoder holds no task yet
        with rooms.sandbox.slot() as decoder, rooms.work.claimed(PREVIEW.name, task_id) as task:
            with rooms.results.original(task.subject) as path:
                save_exif = _read_along(rooms, task.along, decoder, path)
                rendering = decoder.call(render, path, max_pixels=rooms.max_pixels, time_limit_s=task.left_s)
            decoder.release()
            task.check()
            with rooms.results.stored_previews(task.subject, task.token, rendering) as stored:
                task.complete(
                    lambda tx: rooms.results.save_previews(tx, task.subject, rendering, stored),
                    along=save_exif,
                )


def _read_along(rooms: Rooms, task: Claim | None, decoder: Slot, path: Path) -> Save | None:
    """Read what the photo's own task would; None where that is to do it, and to tell what is wrong."""
    if task is None:
        return None
    try:
        metadata = decoder.call(read_exif, path, None, time_limit_s=_ALONG_S)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is not the previews')
        logger.info("no metadata along with the previews: %s", type(error).__name__)
        return None
    return partial(rooms.results.save_exif, photo_id=task.subject, metadata=metadata)
