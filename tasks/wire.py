"""The live wire: what is said on Redis' Pub/Sub wakes up whoever waits for events, or for messages.

It carries neither: who missed a word finds events in the history and messages in their queue, a little later.
"""

from __future__ import annotations

import contextlib
import threading
import time

import redis
from redis.client import PubSub

# Redis that was away isn't asked again before that.
_AGAIN_S = 5.0


class Wire:
    """Listens on channels. For one thread; others may look at `is_up`.

    Args:
        channels: a pattern of their names (Redis' PSUBSCRIBE).

    Attributes:
        is_up: Redis agreed to tell what is said, and didn't go away since, as far as is known.
    """

    def __init__(self, client: redis.Redis, channels: str) -> None:
        self._client = client
        self._channels = channels
        self.is_up = False
        self._heard: PubSub | None = None
        self._again_at_s = 0.0
        self._stopped = threading.Event()

    def wait(self, timeout_s: float) -> str | None:
        """The channel on which something was said, or None after `timeout_s`; so while Redis is away."""
        until_s = time.monotonic() + timeout_s
        while (left_s := until_s - time.monotonic()) > 0:
            if time.monotonic() < self._again_at_s:
                self._stopped.wait(left_s)
                return None
            try:
                if (channel := self._hear(left_s)) is not None:
                    return channel
            except redis.RedisError:
                self._hang_up()
                self._again_at_s = time.monotonic() + _AGAIN_S
        return None

    def drain(self) -> None:
        """Forget what was said meanwhile."""
        with contextlib.suppress(redis.RedisError):
            while self._heard is not None and self._hear(0.0) is not None:
                pass

    def stop(self) -> None:
        """Have whoever waits without Redis wait no more."""
        self._stopped.set()

    def _hear(self, timeout_s: float) -> str | None:
        """The channel of the next word; None also when Redis has answered the subscription."""
        if self._heard is None:
            self._heard = self._client.pubsub()
            self._heard.psubscribe(self._channels)
        message = self._heard.get_message(timeout=timeout_s)
        if message is None:
            return None
        if message["type"] == "psubscribe":
            self.is_up = True
            return None
        channel: bytes = message["channel"]
        return channel.decode()

    def _hang_up(self) -> None:
        self.is_up = False
        if self._heard is not None:
            with contextlib.suppress(redis.RedisError):
                self._heard.close()
        self._heard = None
