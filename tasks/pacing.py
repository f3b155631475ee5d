"""A queue's rate: how many tasks the relay may publish now, whoever led the rounds before this one.

The generic cell rate algorithm (ITU-T I.371, a token bucket that keeps one instant): each task that is
published uses up 1 / rate seconds, and `queues.paced_until` says up to when all is used up. What isn't used
is kept for a second and one task more; so rounds that come late lose nothing of the rate, and after a rest no
more than `rate + 1` tasks are published at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from db.transaction import Transaction

_KEPT_S = 1.0
# an instant is kept to the microsecond
_ROUNDING = 1e-4

_PACES = """
SELECT name, rate_per_s, statement_timestamp() AS now,
       coalesce(paced_until, statement_timestamp()) AS paced_until
FROM queues WHERE rate_per_s IS NOT NULL ORDER BY name FOR UPDATE
"""
_SPEND = "UPDATE queues SET paced_until = :paced_until WHERE name = :name"


@dataclass(frozen=True)
class Pace:
    """A queue's rate at one moment; all instants are PostgreSQL's."""

    name: str
    rate_per_s: float
    now: datetime
    paced_until: datetime

    @property
    def ahead_s(self) -> float:
        """How far what was published is ahead of the rate; behind it, below 0.

        Neither a long rest nor a clock that was set back counts for more than the bucket holds.
        """
        ahead_s = (self.paced_until - self.now).total_seconds()
        return min(max(ahead_s, -_KEPT_S), 1 / self.rate_per_s)

    @property
    def room(self) -> int:
        """How many tasks may be published now."""
        return max(0, math.floor(1 - self.ahead_s * self.rate_per_s + _ROUNDING))

    def after(self, published: int) -> Pace:
        """The pace once so many more are published."""
        ahead_s = self.ahead_s + published / self.rate_per_s
        return replace(self, paced_until=self.now + timedelta(seconds=ahead_s))


def paces(tx: Transaction) -> dict[str, Pace]:
    """Of every queue that has a rate; they stay locked until `tx` ends."""
    return {row.name: Pace(**row._asdict()) for row in tx.execute(_PACES)}


def spend(tx: Transaction, pace: Pace, published: int) -> None:
    """Keep that so many were published."""
    if published:
        tx.execute(_SPEND, {"name": pace.name, "paced_until": pace.after(published).paced_until})
