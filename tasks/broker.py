"""Dramatiq's broker on Redis, with a consumer of its own, and sending in bulk."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from dramatiq.common import current_millis
from dramatiq.middleware import Middleware

from observability.dependencies import About
from observability.outage import Outage
from observability.periodic import Periodic
from tasks.consumer import SENT, Consumer
from tasks.wire import Wire

logger = logging.getLogger(__name__)

TIMEOUT_S = 0.5
# So long after its last failure Redis is told to work again.
_QUIET_S = 3.0
_MOST_NEWS = 1_000
_HEAR_S = 1.0


def _first_error(results: Iterable[Any]) -> Exception | None:
    return next((result for result in results if isinstance(result, Exception)), None)


class Broker(RedisBroker):
    """Dramatiq's Redis broker with its own consumer, and sending in bulk.

    Attributes:
        outage: of Redis, as its consumers meet it.
        done: messages of each queue that are to be acked; after an outage a queue has another consumer.
        news: what is to be published, as (channel, text); the oldest are lost if nobody comes to it.
        woken: by queue, what its idle consumer waits for.
    """

    def __init__(self, client: redis.Redis, middleware: Sequence[Middleware]) -> None:
        super().__init__(client=client, middleware=list(middleware))
        self.outage = Outage("redis", logger, quiet_s=_QUIET_S)
        self.done: defaultdict[str, deque[str]] = defaultdict(deque)
        self.news: deque[tuple[str, str]] = deque(maxlen=_MOST_NEWS)
        self.woken: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._wire = Wire(client, f"{SENT}*")
        self._listener = Periodic("messages", self._listen, interval_s=_HEAR_S)
        self._publishing = Outage("publishing on redis' channels", logger)
        self._is_hushed = False

    def listen(self) -> None:
        """From now on wake idle consumers when a message is sent, so that they needn't look all the time."""
        self._listener.start()

    def hush(self) -> None:
        """Wake nobody any more."""
        self._is_hushed = True
        self._listener.stop(timeout_s=0.0)
        for woken in list(self.woken.values()):
            woken.set()

    @property
    def is_woken(self) -> bool:
        """Whether consumers hear of new messages."""
        return self._wire.is_up and not self._is_hushed

    def _listen(self) -> float:
        channel = self._wire.wait(_HEAR_S) or ""
        if (woken := self.woken.get(channel.removeprefix(SENT))) is not None:
            woken.set()
        return 0.0  # on to the next

    @property
    def consumer_class(self) -> type[_RedisConsumer]:
        return Consumer

    def get_declared_delay_queues(self) -> set[str]:
        """None: when a task is due PostgreSQL knows, so no worker need ask Redis for delayed messages."""
        return set()

    def enqueue_many(self, messages: Sequence[Message[Any]]) -> None:
        """Enqueue messages under their own ids, and wake their consumers, in one round trip."""
        enqueue = [("enqueue", each.queue_name, each.message_id, each.encode()) for each in messages]
        self._run(enqueue, [(SENT + name, "") for name in {each.queue_name for each in messages}])

    def exchange(
        self, queue_name: str, done: Sequence[str], wanted: int, news: Sequence[tuple[str, str]] = ()
    ) -> list[bytes]:
        """Ack messages, publish news, and fetch up to `wanted` other messages, in one round trip.

        Raises:
            redis.RedisError: what was to be acked may come again; news may be lost.
        """
        commands: list[tuple[Any, ...]] = [("ack", queue_name, message_id) for message_id in done]
        if wanted > 0:
            commands.append(("fetch", queue_name, wanted))
        results = self._run(commands, news)
        return [data for data in results[-1] if data is not None] if wanted > 0 else []

    def _run(self, commands: Sequence[tuple[Any, ...]], news: Sequence[tuple[str, str]] = ()) -> list[Any]:
        """Run commands of Dramatiq's own script; redis-py would ask first each time whether Redis has it.

        News may be lost, or refused to this user of Redis: nobody relies on them, and that is told.
        """
        script = self.scripts["dispatch"]
        for _ in range(2):
            with self.client.pipeline(transaction=False) as pipeline:
                for command, queue_name, *arguments in commands:
                    given = (
                        current_millis(),
                        queue_name,
                        self.broker_id,
                        self.heartbeat_timeout,
                        self.dead_message_ttl,
                        self._should_do_maintenance(command) if command == "fetch" else 0,
                        self._max_unpack_size(),
                    )
                    pipeline.evalsha(script.sha, 1, self.namespace, command, *given, *arguments)
                for channel, text in news:
                    pipeline.publish(channel, text)
                results = pipeline.execute(raise_on_error=False)
            if news:
                self._tell_of(results[len(commands) :])
            results = results[: len(commands)]
            if (failed := _first_error(results)) is None:
                return results
            if not isinstance(failed, redis.exceptions.NoScriptError):
                raise failed
            self.client.script_load(script.script)
        raise redis.RedisError("Redis doesn't keep a script")

    def _tell_of(self, published: Sequence[Any]) -> None:
        if (refused := _first_error(published)) is None:
            self._publishing.worked()
        else:
            self._publishing.failed(refused)


def connect(redis_url: str) -> redis.Redis:
    """A client that gives up after half a second instead of hanging; nothing is connected yet."""
    return redis.Redis.from_url(
        redis_url,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=None,
    )


def about_redis(client: redis.Redis) -> About:
    """Which server it is: Valkey says that it is Redis 7.2, and then what it really is.

    Raises:
        redis.RedisError
    """
    told: dict[str, Any] = client.info("server")
    version = f"{told.get('server_name', 'redis')} {told.get('valkey_version', told['redis_version'])}"
    return About(version, datetime.now(UTC) - timedelta(seconds=told["uptime_in_seconds"]))


def make_broker(client: redis.Redis, middleware: Sequence[Middleware] = ()) -> Broker:
    """A broker with exactly the given middleware: none of Dramatiq's own."""
    return Broker(client, middleware)
