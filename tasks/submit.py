"""Submitting tasks: rows in the caller's transaction, messages after its commit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from db.transaction import Transaction
from tasks import states
from tasks.courier import Courier, Dispatch, RedisAway
from tasks.kinds import Kind
from tasks.records import Submitted

logger = logging.getLogger(__name__)


class Submitter:
    """Makes tasks durable first and sends their messages second.

    Args:
        kinds: the kinds that may be submitted, by name.
        window: how many tasks of a queue may be `queued` (have a message in Redis) at once.
    """

    def __init__(self, courier: Courier, kinds: Mapping[str, Kind], *, window: int) -> None:
        self._courier = courier
        self._kinds = kinds
        self._window = window

    def submit(self, tx: Transaction, kind: str, subject: UUID) -> UUID:
        """Submit a task within `tx`; returns its id, or that of the live one it joins."""
        return self.submitted(tx, kind, subject).id

    def submitted(self, tx: Transaction, kind: str, subject: UUID) -> Submitted:
        """Submit a task within `tx`, and tell whether it is new.

        Its message is sent when `tx` has committed. If Redis is away then, the relay sends it later.
        """
        return self.submit_each(tx, [kind], subject)[0]

    def submit_each(self, tx: Transaction, kinds: Iterable[str], subject: UUID) -> list[Submitted]:
        """Submit a task of each kind for a subject, as `submitted` does; their messages are sent together."""
        submitted = states.submit(tx, [self._kinds[kind] for kind in kinds], subject, window=self._window)
        if dispatches := [each.dispatch for each in submitted if each.dispatch is not None]:
            tx.after_commit(lambda: self._send(dispatches))
        return submitted

    def submit_many(self, tx: Transaction, kind: str, subjects: Sequence[UUID]) -> int:
        """Submit a task for each of many different subjects, for the relay to publish.

        Returns:
            How many are new; the others joined live ones.
        """
        return states.submit_many(tx, self._kinds[kind], subjects)

    def _send(self, dispatches: list[Dispatch]) -> None:
        try:
            self._courier.send(dispatches)
        except RedisAway as error:
            for dispatch in dispatches:
                logger.warning(
                    "message not sent, the relay will: %s",
                    error,
                    extra={"task_id": str(dispatch.task_id), "kind": dispatch.kind},
                )
