"""When metadata is read: a photo's EXIF, normalised and raw."""

from __future__ import annotations

import dramatiq

from actors.rooms import Rooms
from imaging.jobs import read_exif
from photos.kinds import EXIF


def declare(broker: dramatiq.Broker, rooms: Rooms) -> None:
    """Declare the actor that reads and stores a photo's metadata."""

    @dramatiq.actor(broker=broker, actor_name=EXIF.name, queue_name=EXIF.name)
    def read_metadata(task_id: str) -> None:
        # its time runs from the claim: whoever waits for a decoder holds no task yet
        with rooms.sandbox.slot() as decoder, rooms.work.claimed(EXIF.name, task_id) as task:
            metadata = rooms.results.metadata(
                task.subject,
                lambda path, present: decoder.call(read_exif, path, present, time_limit_s=task.left_s),
            )
            decoder.release()
            task.complete(lambda tx: rooms.results.save_exif(tx, task.subject, metadata))
