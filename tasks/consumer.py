"""Dramatiq's consumer on Redis, but one that acks, publishes and fetches in one round trip, and is woken."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import redis
from dramatiq import Message
from dramatiq.broker import MessageProxy
from dramatiq.brokers.redis import _RedisConsumer
from dramatiq.common import compute_backoff
from dramatiq.errors import ConnectionClosed

if TYPE_CHECKING:
    from tasks.broker import Broker

SENT = "sent:"
"""With a queue's name behind it the channel on which it is told that messages were sent there."""
# An idle consumer that nobody wakes looks for messages this often; Dramatiq's own second would be most of a
# photo's wait.
_IDLE_POLL_MS = 50
# One that is woken looks for what came without a word.
_WOKEN_POLL_MS = 1_000
# Between two looks that find nothing: many idle workers hear of each message, and one gets it.
_LEAST_S = 0.01


class Consumer(_RedisConsumer):
    """A consumer that takes every Redis error as a lost connection, and acks with its next fetch.

    It fetches again when half of what it may have in hand is done, so that under load it asks seldom.

    Dramatiq handles `ConnectionError` alone: a time-out or a read-only replica would end the consumer's
    thread (its issues 894 and 628). It tells of a lost connection every second; here an outage is told
    once, and its end. An ack that is lost with its worker does no harm: the message comes again later, finds
    its task done, and is dropped.
    """

    def __init__(self, broker: Broker, queue_name: str, prefetch: int, timeout: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout)
        self._few = prefetch - prefetch // 2
        self._woken = broker.woken[queue_name]
        self._has_few = threading.Event()

    def __next__(self) -> MessageProxy | None:
        if not self.message_cache:
            self._woken.clear()
            self._has_few.clear()
            if self.outstanding_message_count > self._few:  # several at once cost hardly more than one
                self._has_few.wait(_IDLE_POLL_MS / 1000)
            self.message_cache = self._exchange(self.prefetch - self.outstanding_message_count)
        if not self.message_cache:
            # With more in hand it has acks to send before it is woken.
            is_idle = self.outstanding_message_count <= self._few
            longest_ms = _WOKEN_POLL_MS if is_idle and self.broker.is_woken else _IDLE_POLL_MS
            self.misses, backoff_ms = compute_backoff(self.misses, max_backoff=min(self.timeout, longest_ms))
            time.sleep(_LEAST_S)
            self._woken.wait(backoff_ms / 1000)
            return None
        self.misses = 0
        message: Message[Any] = Message.decode(self.message_cache.pop(0))
        self.queued_message_ids.add(message.message_id)
        return MessageProxy(message)

    def ack(self, message: MessageProxy) -> None:
        """Called by the actors' threads."""
        self.broker.done[self.queue_name].append(message.options["redis_message_id"])
        self.queued_message_ids.discard(message.message_id)
        if self.outstanding_message_count <= self._few:
            self._has_few.set()
            self._woken.set()

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        if not (given_back := list(messages)):
            return
        try:
            super().requeue(given_back)
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None
        self.broker.news.append((SENT + self.queue_name, ""))  # for other workers

    def close(self) -> None:
        with suppress(ConnectionClosed):
            self._exchange(0)

    def _exchange(self, wanted: int) -> list[bytes]:
        waiting = self.broker.done[self.queue_name]
        done, news = list(_emptied(waiting)), list(_emptied(self.broker.news))
        if wanted <= 0 and not done and not news:
            return []
        try:
            fetched = self.broker.exchange(self.queue_name, done, wanted, news)
        except redis.RedisError as error:
            waiting.extend(done)  # for the next consumer; twice does no harm
            self.broker.outage.failed(error)
            raise ConnectionClosed(error) from None
        self.broker.outage.worked()
        return cast(list[bytes], fetched)


T = TypeVar("T")


def _emptied(things: deque[T]) -> Iterator[T]:
    """Take out what is in there; at the end of a worker another thread may take some too."""
    with suppress(IndexError):
        while True:
            yield things.popleft()
