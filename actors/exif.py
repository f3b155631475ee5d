"""When metadata is read: a photo's EXIF, normalised and raw."""

from __future__ import annotations

import dramatiq

from actors.rooms import Rooms
from imaging.exif import read_exif
from photos.kinds import EXIF


def declare(broker: dramatiq.Broker, rooms: Rooms) -> None:
    """Declare the actor that reads and stores a photo's metadata."""

    @dramatiq.actor(broker=broker, actor_name=EXIF.name, queue_name=EXIF.name)
    def read_metadata(task_id: str) -> None:
        with rooms.work.claimed(EXIF.name, task_id) as task:
            metadata = rooms.results.metadata(
                task.subject,
                lambda path, present: rooms.sandbox.call(read_exif, path, present, time_limit_s=task.left_s),
            )
            task.complete(lambda tx: rooms.results.save_exif(tx, task.subject, metadata))
