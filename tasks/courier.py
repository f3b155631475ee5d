"""Messages on Redis: a task id each, and nothing that can't be sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import redis
from dramatiq import Message

from tasks.broker import Broker

# After a failure nobody waits for Redis for so long: uploads go on, and the relay sends later.
BREAK_S = 1.0


class RedisAway(Exception):
    """Redis can't be reached, or doesn't answer in time."""


@dataclass(frozen=True)
class Dispatch:
    """One sending of one task: `number` counts a task's sendings, so that each has an id of its own."""

    kind: str
    task_id: UUID
    number: int


class Courier:
    """Sends tasks' messages, and tells which are still waiting in Redis."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._broken_until_s = 0.0

    def send(self, dispatches: Sequence[Dispatch]) -> None:
        """Send a message for each dispatch, in one round trip for all.

        Raises:
            RedisAway: some or all may not have been sent.
        """
        if dispatches:
            with self._guarded():
                self._broker.enqueue_many([_message(dispatch) for dispatch in dispatches])

    def ready(self, kind: str) -> set[UUID]:
        """Tasks with a message that no worker has fetched yet.

        Raises:
            RedisAway
        """
        with self._guarded():
            ids = self._broker.client.lrange(f"{self._broker.namespace}:{kind}", 0, -1)
        return {UUID(identity.decode().partition(".")[0]) for identity in cast(list[bytes], ids)}

    def announce(self, channel: str, text: str) -> None:
        """Publish on a Pub/Sub channel, with a consumer's next exchange; nobody need listen."""
        self._broker.news.append((channel, text))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """A breaker: after a failure all calls fail at once, for a moment, instead of waiting one by one."""
        if time.monotonic() < self._broken_until_s:
            raise RedisAway("Redis was away a moment ago")
        try:
            yield
        except redis.RedisError as error:
            self._broken_until_s = time.monotonic() + BREAK_S
            raise RedisAway(str(error)) from error


def _message(dispatch: Dispatch) -> Message[Any]:
    identity = f"{dispatch.task_id}.{dispatch.number}"
    return Message(
        queue_name=dispatch.kind,
        actor_name=dispatch.kind,
        args=(str(dispatch.task_id),),
        kwargs={},
        options={"redis_message_id": identity},
        message_id=identity,
    )
