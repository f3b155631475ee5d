"""Pausing and resuming queues. Paused, tasks in hand finish, none is begun, and new ones are accepted."""

from __future__ import annotations

from collections.abc import Mapping

from db.session import Database
from tasks import states
from tasks.kinds import Kind

_SET = """
INSERT INTO queues (name, paused) VALUES (:name, :paused)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused
"""


class Queues:
    """The switch of each queue."""

    def __init__(self, database: Database, kinds: Mapping[str, Kind]) -> None:
        self._database = database
        self._kinds = kinds

    def set_paused(self, name: str, paused: bool) -> None:
        """Pause or resume a queue; from the commit on no worker begins a task of a paused one.

        Raises:
            LookupError: no such queue.
            DatabaseAway
        """
        if name not in self._kinds:
            raise LookupError(f"there is no queue {name}; there are {', '.join(self._kinds)}")
        with self._database.transaction() as tx:
            tx.execute(_SET, {"name": name, "paused": paused})
            states.unpublish(tx, self._kinds[name])
