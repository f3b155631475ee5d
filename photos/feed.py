"""The events of photos in the order of their commits, so that whoever reads on from where he was misses none.

An event's number is given before its transaction commits, and a later number may commit first. So events are
read in the order of (xid, id), and only below the oldest transaction that still runs: nothing can come in
there any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from db.session import Database
from db.transaction import Transaction

# Who is further behind than that many events of all owners had better load everything anew.
REPLAY_MAX = 100_000
_PAGE = 500

_HORIZON = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_xid,
       EXISTS (SELECT FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS held_up,
       clock_timestamp() AS now
"""
# A deleted photo's owner is told by the event of its deletion.
_EVENTS = """
SELECT events.xid::text::bigint AS xid, events.id, events.type, events.created_at AS at,
       coalesce(photos.owner, gone.owner) AS owner, events.subject AS photo_id, photos.state AS photo_state,
       events.task_id, events.kind, events.data
FROM events
LEFT JOIN photos ON photos.id = events.subject
LEFT JOIN LATERAL (
    SELECT deleted.data ->> 'owner' AS owner FROM events AS deleted
    WHERE photos.id IS NULL AND deleted.subject = events.subject AND deleted.type = 'photo-deleted'
    LIMIT 1) AS gone ON true
WHERE (events.xid, events.id) > (CAST(CAST(:xid AS text) AS xid8), :id)
  AND (events.xid, events.id) <= (CAST(CAST(:until_xid AS text) AS xid8), :until_id)
  AND (CAST(:owner AS text) IS NULL OR coalesce(photos.owner, gone.owner) = :owner)
  AND (CAST(:photo_id AS uuid) IS NULL OR events.subject = :photo_id)
ORDER BY events.xid, events.id LIMIT :limit
"""
_BEHIND = """
SELECT count(*) FROM (
    SELECT FROM events WHERE (xid, id) > (CAST(CAST(:xid AS text) AS xid8), :id) LIMIT :limit) AS counted
"""


@dataclass(frozen=True, order=True)
class Position:
    """A place in the history: behind the event of that number, written by that transaction."""

    xid: int
    id: int


@dataclass(frozen=True)
class Mark:
    """A position, and when it was reached."""

    position: Position
    at: datetime


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened to a photo, or to one of its tasks.

    Attributes:
        owner: None if nobody knows any more.
        photo_state: the photo's own when the event was read, None if it is deleted.
    """

    position: Position
    type: str
    at: datetime
    owner: str | None
    photo_id: UUID
    photo_state: str | None
    task_id: UUID | None
    kind: str | None
    data: dict[str, Any]

    @property
    def mark(self) -> Mark:
        """Where who has read it reads on."""
        return Mark(self.position, self.at)


@dataclass(frozen=True)
class Horizon:
    """Up to where events can be read now.

    Attributes:
        next_xid: no transaction has had this number yet.
        held_up: there are events behind it, which wait for an older transaction to end.
    """

    mark: Mark
    next_xid: int
    held_up: bool


@dataclass(frozen=True)
class Batch:
    """Events, where to read on, and whether some are there already (`more`) or about to be (`held_up`)."""

    events: tuple[Event, ...]
    mark: Mark
    more: bool
    held_up: bool


class Feed:
    """Reads the history of events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def horizon(self) -> Horizon:
        """Where the history ends at this moment.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return _horizon(tx)

    def after(self, position: Position, *, limit: int) -> Batch:
        """The next events of all owners.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            # What is below is below for every statement after this one.
            horizon = _horizon(tx)
            events = _read(tx, position, horizon.mark.position, None, None, limit)
        more = len(events) == limit
        reached = events[-1].mark if more else Mark(max(position, horizon.mark.position), horizon.mark.at)
        return Batch(tuple(events), reached, more, horizon.held_up)

    def replay(
        self, since: Position, until: Position, *, owner: str, photo_id: UUID | None
    ) -> Iterator[Event]:
        """An owner's events, or those of one of his photos, behind `since` and up to `until`.

        No connection is held while the caller deals with them.

        Raises:
            DatabaseAway
        """
        while True:
            with self._database.transaction() as tx:
                events = _read(tx, since, until, owner, photo_id, _PAGE)
            yield from events
            if len(events) < _PAGE:
                return
            since = events[-1].position

    def is_far_behind(self, position: Position) -> bool:
        """Whether more than `REPLAY_MAX` events came after that position.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            behind = tx.execute(_BEHIND, {**vars(position), "limit": REPLAY_MAX + 1}).scalar_one()
        return int(behind) > REPLAY_MAX


def _horizon(tx: Transaction) -> Horizon:
    row = tx.execute(_HORIZON).one()
    return Horizon(Mark(Position(row.xid, 0), row.now), row.next_xid, row.held_up)


def _read(
    tx: Transaction, since: Position, until: Position, owner: str | None, photo_id: UUID | None, limit: int
) -> list[Event]:
    places = {"xid": since.xid, "id": since.id, "until_xid": until.xid, "until_id": until.id}
    rows = tx.execute(_EVENTS, {**places, "owner": owner, "photo_id": photo_id, "limit": limit})
    return [_event(row) for row in rows]


def _event(row: Row[Any]) -> Event:
    values = row._asdict()
    return Event(Position(values.pop("xid"), values.pop("id")), **values)
