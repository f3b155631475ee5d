"""When previews are made: every size of one photo, from a single decode."""

from __future__ import annotations

from functools import partial

import dramatiq

from actors.rooms import Rooms
from imaging.jobs import render
from photos.kinds import PREVIEW


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
                rendering, metadata = decoder.call(
                    render,
                    path,
                    max_pixels=rooms.max_pixels,
                    with_metadata=task.along is not None,
                    time_limit_s=task.left_s,
                )
            decoder.release()
            task.check()
            save_exif = None
            if metadata is not None:
                save_exif = partial(rooms.results.save_exif, photo_id=task.subject, metadata=metadata)
            with rooms.results.stored_previews(task.subject, task.token, rendering) as stored:
                task.complete(
                    lambda tx: rooms.results.save_previews(tx, task.subject, rendering, stored),
                    along=save_exif,
                )
