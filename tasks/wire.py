"""The live wire: what the workers say on Redis' Pub/Sub wakes up whoever waits for events.

It carries no event: who missed a word, or has no Redis, finds all of them in the history.
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
    """Listens for tasks that ended. For one thread."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._heard: PubSub | None = None
        self._again_at_s = 0.0
        self._stopped = threading.Event()

    def wait(self, timeout_s: float) -> None:
        """Return when something was said, or after `timeout_s`; while Redis is away, after that alone."""
        until_s = time.monotonic() + timeout_s
        while (left_s := until_s - time.monotonic()) > 0:
            if time.monotonic() < self._again_at_s:
                self._stopped.wait(left_s)
                return
            try:
                # None is also what the answer to our own subscription looks like
                if self._listening().get_message(timeout=left_s) is not None:
                    return
            except redis.RedisError:
                self._hang_up()
                self._again_at_s = time.monotonic() + _AGAIN_S

    def drain(self) -> None:
        """Forget what was said meanwhile."""
        with contextlib.suppress(redis.RedisError):
            while self._heard is not None and self._heard.get_message(timeout=0.0) is not None:
                pass

    def stop(self) -> None:
        """Have whoever waits without Redis wait no more."""
        self._stopped.set()

    def _listening(self) -> PubSub:
        if self._heard is None:
            self._heard = self._client.pubsub(ignore_subscribe_messages=True)
            self._heard.psubscribe("task:*")
        return self._heard

    def _hang_up(self) -> None:
        if self._heard is not None:
            with contextlib.suppress(redis.RedisError):
                self._heard.close()
        self._heard = None
