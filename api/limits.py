"""How often something may happen: counted in Redis by all, by each process for itself while that is away."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any

import redis
from cachetools import TTLCache
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import RateLimiter, SlidingWindowCounterRateLimiter

from observability.outage import Outage

logger = logging.getLogger(__name__)

BAD_KEYS = parse("20/minute")
# While Redis is away one request of a process looks for it this often; all others go on without.
RETRY_S = 5.0
# How many requests are left is told with each, and asked of Redis this often: other processes count too.
STANDS_S = 1.0
_STANDS_MAX = 10_000


@dataclass(frozen=True)
class Window:
    """Where one limit stands after one more request.

    Attributes:
        allowed: whether that request was within it.
        remaining: how many more are.
        reset_s: whole seconds until there are more again.
    """

    limit: RateLimitItem
    allowed: bool
    remaining: int
    reset_s: int

    def headers(self, name: str) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10)."""
        return {
            "RateLimit-Policy": f'"{name}";q={self.limit.amount};w={self.limit.get_expiry()}',
            "RateLimit": f'"{name}";r={self.remaining};t={self.reset_s}',
        }


@dataclass
class _Stand:
    """How many requests are left, and until when."""

    remaining: int
    resets_at_s: float


class _InRedis(RedisStorage):
    """By redis-py alone: where valkey-py is installed limits would import that too, and not use it."""

    DEPENDENCIES = {"redis": RedisStorage.DEPENDENCIES["redis"]}  # noqa: RUF012 - limits has it so


class Limits:
    """Counts in a sliding window.

    Args:
        client: of a Redis that gives up soon (`tasks.broker.connect`); nothing is connected yet.
        rate: for each key, as `600/minute`; None: as many as it likes.
    """

    def __init__(self, client: redis.Redis, rate: str | None) -> None:
        self._rate = parse(rate) if rate else None
        shared = _InRedis("redis://", connection_pool=client.connection_pool, key_prefix="safelight-limits")
        self._shared = SlidingWindowCounterRateLimiter(shared)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._stands: TTLCache[Any, _Stand] = TTLCache(_STANDS_MAX, STANDS_S)
        self._lock = threading.Lock()
        self._away = False
        self._asked_again_at_s = 0.0
        self._outage = Outage("rate limits in redis", logger)

    def request_of(self, key_id: str) -> Window | None:
        """Count one request of a key; None if there is no limit."""
        return None if self._rate is None else self._count(self._rate, "key", key_id)

    def bad_key_from(self, address: str) -> Window:
        """Count one wrong key from an address."""
        return self._count(BAD_KEYS, "bad-key", address)

    def _count(self, limit: RateLimitItem, *names: str) -> Window:
        if self._may_ask_redis():
            try:
                window = self._counted(self._shared, limit, *names)
            except redis.RedisError as error:
                self._failed(error)
            else:
                self._away = False
                self._outage.worked()
                return window
        return self._counted(self._own, limit, *names)

    def _counted(self, limiter: RateLimiter, limit: RateLimitItem, *names: str) -> Window:
        """Count one more; how many are left is asked for now and then, and counted down meanwhile."""
        allowed = limiter.hit(limit, *names)
        with self._lock:
            stand = self._stands.get((limiter, names)) if allowed else None
            if stand is not None:
                stand.remaining = max(0, stand.remaining - 1)
        if stand is None:
            stats = limiter.get_window_stats(limit, *names)
            stand = _Stand(stats.remaining, stats.reset_time)
            with self._lock:
                self._stands[limiter, names] = stand
        reset_s = max(1, math.ceil(stand.resets_at_s - time.time()))
        return Window(limit, allowed, stand.remaining if allowed else 0, reset_s)

    def _may_ask_redis(self) -> bool:
        with self._lock:
            if not self._away:
                return True
            if time.monotonic() < self._asked_again_at_s:
                return False
            self._asked_again_at_s = time.monotonic() + RETRY_S  # the others go on meanwhile
            return True

    def _failed(self, error: redis.RedisError) -> None:
        self._outage.failed(error)
        with self._lock:
            self._away = True
            self._asked_again_at_s = time.monotonic() + RETRY_S
