"""The switches of each queue: paused, and its rate.

Paused, tasks in hand finish, none is begun, and new ones are accepted. With a rate, the relay publishes no
more tasks a second than that, whatever made them due.
"""

from __future__ import annotations

from collections.abc import Mapping

from db.session import Database
from tasks import states
from tasks.kinds import Kind

# From a task in three hours to more than any database of ours does. Whoever means less pauses the queue.
RATES_PER_S = (0.0001, 100_000.0)

_PAUSE = """
INSERT INTO queues (name, paused) VALUES (:name, :paused)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused
"""
_PACE = """
INSERT INTO queues (name, rate_per_s, paced_until) VALUES (:name, :rate_per_s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET rate_per_s = excluded.rate_per_s, paced_until = excluded.paced_until
WHERE queues.rate_per_s IS DISTINCT FROM excluded.rate_per_s
RETURNING rate_per_s
"""


class UnknownQueue(LookupError):
    """There is no queue of that name."""


class Queues:
    """Sets the switches; from the commit on every worker keeps to them."""

    def __init__(self, database: Database, kinds: Mapping[str, Kind]) -> None:
        self._database = database
        self._kinds = kinds

    def set_paused(self, name: str, paused: bool) -> None:
        """Pause or resume a queue.

        Raises:
            UnknownQueue, DatabaseAway
        """
        kind = self.kind(name)
        with self._database.transaction() as tx:
            tx.execute(_PAUSE, {"name": name, "paused": paused})
            states.unpublish(tx, kind)

    def set_rate(self, name: str, rate_per_s: float | None) -> None:
        """Bound a queue to so many tasks a second; None takes the bound away.

        What had been published, and isn't in hand yet, waits again: it is published anew, at the rate.

        Raises:
            UnknownQueue, DatabaseAway
            ValueError: the rate is none of `RATES_PER_S`.
        """
        kind = self.kind(name)
        if rate_per_s is not None and not RATES_PER_S[0] <= rate_per_s <= RATES_PER_S[1]:
            raise ValueError("a rate is between {:g} and {:,.0f} tasks a second".format(*RATES_PER_S))
        with self._database.transaction() as tx:
            changed = tx.execute(_PACE, {"name": name, "rate_per_s": rate_per_s}).one_or_none()
            if changed is not None and rate_per_s is not None:
                states.withdraw(tx, kind)

    def kind(self, name: str) -> Kind:
        """The kind whose queue it is.

        Raises:
            UnknownQueue
        """
        if name not in self._kinds:
            raise UnknownQueue(f"there is no queue {name}; there are {', '.join(self._kinds)}")
        return self._kinds[name]
