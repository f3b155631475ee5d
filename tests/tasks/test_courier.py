"""Messages on Redis, and what happens when it is away."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
import redis
from dramatiq import Worker
from dramatiq.errors import ConnectionClosed

from embedded.valkey import find_program
from tasks.broker import connect, make_broker
from tasks.courier import Courier, Dispatch, RedisAway
from tasks.wire import Wire
from tests.waiting import until


class Server:
    """A Valkey of this test's own, to be stopped, hung and killed."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "v.sock"
        self.url = f"unix://{self.socket}?db=0"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(find_program()), "--port", "0", "--unixsocket", str(self.socket), "--save", ""]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.socket.parent)
        with redis.Redis.from_url(self.url) as client:
            until(lambda: _answers(client))

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the test's own."""
    server = Server(tmp_path_factory.mktemp("v"))
    yield server
    os.kill(server.process.pid, signal.SIGCONT)
    server.kill()


def dispatch() -> Dispatch:
    """A new task's first."""
    return Dispatch("join", uuid4(), 1)


def test_a_message_holds_the_task_id_alone(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    sent = dispatch()
    Courier(broker).send([sent])
    consumer = broker.consume("join")
    message = next(consumer)
    assert message is not None
    assert (message.args, message.kwargs) == ((str(sent.task_id),), {})
    assert message.message_id == f"{sent.task_id}.1"
    consumer.ack(message)
    assert next(consumer) is None  # the ack goes with it
    assert broker.client.hlen("dramatiq:join.msgs") == 0


def test_what_a_consumer_has_to_ack_goes_when_it_is_closed(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    Courier(broker).send([dispatch(), dispatch(), dispatch()])
    consumer = broker.consume("join", prefetch=2)
    for _ in range(2):
        message = next(consumer)
        assert message is not None
        consumer.ack(message)
    consumer.close()
    assert broker.client.hlen("dramatiq:join.msgs") == 1
    assert broker.client.keys("dramatiq:__acks__*") == []


def test_a_redis_that_forgot_its_scripts_is_given_them_again(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    courier = Courier(broker)
    courier.send([dispatch()])
    broker.client.script_flush()
    courier.send([dispatch()])
    consumer = broker.consume("join", prefetch=4)
    broker.client.script_flush()
    assert next(consumer) is not None
    assert next(consumer) is not None
    assert next(consumer) is None


def test_a_message_without_its_text_is_passed_over(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    broker.client.rpush("dramatiq:join", "nobody's")
    sent = dispatch()
    Courier(broker).send([sent])
    message = next(broker.consume("join", prefetch=4))
    assert message is not None
    assert message.message_id == f"{sent.task_id}.1"


def test_a_worker_asks_redis_for_no_delayed_messages(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    worker = Worker(broker, worker_threads=1)
    worker.start()
    try:
        assert set(worker.consumers) == {"join"}
    finally:
        worker.stop()


def test_a_dead_redis_is_told_at_once(server: Server) -> None:
    courier = Courier(make_broker(connect(server.url)))
    server.kill()
    with pytest.raises(RedisAway):
        courier.send([dispatch()])
    server.start()


def test_a_hanging_redis_costs_the_first_a_moment_and_the_others_nothing(server: Server) -> None:
    courier = Courier(make_broker(connect(server.url)))
    courier.send([dispatch()])
    os.kill(server.process.pid, signal.SIGSTOP)
    begun_s = time.monotonic()
    for _ in range(20):
        with pytest.raises(RedisAway):
            courier.send([dispatch()])
    assert time.monotonic() - begun_s < 3
    os.kill(server.process.pid, signal.SIGCONT)
    until(lambda: _sends(courier))


def test_a_restarted_redis_is_used_again(server: Server) -> None:
    courier = Courier(make_broker(connect(server.url)))
    courier.send([dispatch()])
    server.kill()
    server.start()
    until(lambda: _sends(courier))


def test_a_consumer_survives_every_redis_error_and_the_next_one_acks_for_it(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    Courier(broker).send([dispatch()])
    consumer = broker.consume("join")
    message = next(consumer)
    assert message is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    begun_s = time.monotonic()
    consumer.ack(message)
    with pytest.raises(ConnectionClosed):
        next(consumer)
    assert time.monotonic() - begun_s < 5
    os.kill(server.process.pid, signal.SIGCONT)
    assert next(broker.consume("join")) is None
    assert broker.client.hlen("dramatiq:join.msgs") == 0


def _sends(courier: Courier) -> bool:
    try:
        courier.send([dispatch()])
    except RedisAway:
        return False
    return True


def test_an_outage_is_told_once_and_its_end_too(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")

    def polls() -> bool:
        try:
            next(broker.consume("join"))
        except ConnectionClosed:
            return False
        return True

    with caplog.at_level(logging.INFO):
        assert polls()
        server.kill()
        assert not any(polls() for _ in range(5))
        server.start()
        until(lambda: polls() and "works again" in caplog.text)
    first, last = [entry.getMessage() for entry in caplog.records if entry.name == "tasks.broker"]
    assert first.startswith("redis fails, and goes on trying: ")
    assert last == "redis works again"


def test_a_consumer_that_has_enough_in_hand_says_nothing_of_redis(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    Courier(broker).send([dispatch()])
    full = broker.consume("join", prefetch=1)
    assert next(full) is not None
    server.kill()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            with pytest.raises(ConnectionClosed):
                next(broker.consume("join"))
            assert next(full) is None
    assert len([entry for entry in caplog.records if entry.name == "tasks.broker"]) == 1
    server.start()


def test_a_consumer_fetches_again_when_half_of_what_it_had_is_done(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    Courier(broker).send([dispatch() for _ in range(10)])
    asked: list[tuple[int, int]] = []
    exchange = broker.exchange

    def note(queue: str, done: Sequence[str], wanted: int, *news: Any) -> list[bytes]:
        asked.append((len(done), wanted))
        return exchange(queue, done, wanted, *news)

    monkeypatch.setattr(broker, "exchange", note)
    monkeypatch.setattr("tasks.consumer._IDLE_POLL_MS", 60_000)
    consumer = broker.consume("join", prefetch=4)
    messages = [next(consumer) for _ in range(4)]
    assert asked == [(0, 4)]
    waiting = Thread(target=lambda: messages.append(next(consumer)))
    waiting.start()
    for message in messages[:2]:
        assert message is not None
        consumer.ack(message)
    waiting.join(10)
    assert len(messages) == 5
    assert asked[1:] == [(2, 2)]


def test_what_ended_is_published_with_the_next_exchange_and_lost_with_redis(server: Server) -> None:
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    pubsub = broker.client.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe("task:completed:join")
    until(lambda: broker.client.pubsub_numsub("task:completed:join")[0][1] == 1)
    Courier(broker).announce("task:completed:join", "one")
    assert next(broker.consume("join")) is None
    assert pubsub.get_message(timeout=5) is None  # that it subscribed
    heard = pubsub.get_message(timeout=5)
    assert heard is not None
    assert heard["data"] == b"one"
    pubsub.close()
    server.kill()
    Courier(broker).announce("task:completed:join", "two")
    with pytest.raises(ConnectionClosed):
        next(broker.consume("join"))
    assert not broker.news
    server.start()


@pytest.fixture
def idle(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A consumer that would sleep for a minute in the end, if nobody woke it."""
    monkeypatch.setattr("tasks.consumer._WOKEN_POLL_MS", 60_000)
    broker = make_broker(connect(server.url))
    broker.declare_queue("join")
    broker.listen()
    until(lambda: broker.is_woken)
    consumer: Any = broker.consume("join", prefetch=4, timeout=60_000)
    yield consumer
    broker.hush()


def _send(broker: Any, heard_by: Any) -> None:
    """Send a message, and wait until the word of it came, so that it wakes nobody later."""
    Courier(broker).send([dispatch()])
    until(heard_by.woken["join"].is_set)


def _woken_by(act: Callable[[], object], consumer: Any, *, within_s: float = 10) -> bool:
    """Whether a consumer that sleeps as long as it ever does sleeps no more once something was done."""
    consumer.misses = 20
    waiting = Thread(target=lambda: next(consumer), daemon=True)
    waiting.start()
    until(lambda: consumer.misses > 20)
    act()
    waiting.join(within_s)
    return not waiting.is_alive()


def test_an_idle_consumer_is_woken_by_an_ack(server: Server, idle: Any) -> None:
    _send(idle.broker, idle.broker)
    message = next(idle)
    assert _woken_by(lambda: idle.ack(message), idle)
    idle.timeout = 0
    next(idle)
    assert idle.broker.client.hlen("dramatiq:join.msgs") == 0


def test_an_idle_consumer_is_woken_by_what_others_send(server: Server, idle: Any) -> None:
    others, sent = Courier(make_broker(connect(server.url))), dispatch()
    assert _woken_by(lambda: others.send([sent]), idle)
    message = next(idle)
    assert message is not None
    assert message.message_id == f"{sent.task_id}.1"


def test_an_idle_consumer_is_woken_by_what_a_worker_gives_back(server: Server, idle: Any) -> None:
    leaving = make_broker(connect(server.url))
    leaving.declare_queue("join")
    _send(leaving, idle.broker)
    consumer = leaving.consume("join")
    message = next(consumer)
    assert message is not None

    def give_back() -> None:
        consumer.requeue([message])
        consumer.close()

    assert _woken_by(give_back, idle)
    assert next(idle) is not None


def test_a_stopping_workers_consumers_wait_no_more(idle: Any) -> None:
    assert _woken_by(idle.broker.hush, idle)
    assert not idle.broker.is_woken


def test_consumers_look_by_themselves_while_nobody_can_wake_them(
    server: Server, idle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.wire._AGAIN_S", 600)
    server.kill()
    until(lambda: not idle.broker.is_woken)
    server.start()
    until(lambda: _looks(idle))  # and finds nothing
    others = Courier(make_broker(connect(server.url)))
    assert _woken_by(lambda: others.send([dispatch()]), idle, within_s=4)  # though it doesn't hear of it
    assert next(idle) is not None


def test_consumers_are_woken_again_after_an_outage(
    server: Server, idle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.wire._AGAIN_S", 0.1)
    server.kill()
    until(lambda: not idle.broker.is_woken)
    server.start()
    until(lambda: idle.broker.is_woken)


def test_a_consumer_with_much_in_hand_looks_often_enough_to_ack(server: Server, idle: Any) -> None:
    for _ in range(4):
        _send(idle.broker, idle.broker)
    messages = [next(idle) for _ in range(4)]
    # three are left, which are too many for it to be woken
    assert _woken_by(lambda: idle.ack(messages[0]), idle)


def _looks(consumer: Any) -> bool:
    try:
        return next(consumer) is None
    except ConnectionClosed:
        return False


def test_a_user_of_redis_who_may_not_publish_sends_and_fetches_and_that_is_told_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "resetchannels")
    broker = make_broker(connect(server.url.replace("unix://", "unix://app:secret@")))
    broker.declare_queue("join")
    Courier(broker).announce("task:completed:join", "one")
    with caplog.at_level(logging.INFO):
        Courier(broker).send([dispatch()])
        assert next(broker.consume("join")) is not None
    (told,) = [entry.getMessage() for entry in caplog.records if entry.name == "tasks.broker"]
    assert told.startswith("publishing on redis' channels fails, and goes on trying: ")


def test_who_may_not_listen_is_not_woken(server: Server) -> None:
    with redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "resetchannels")
    wire = Wire(connect(server.url.replace("unix://", "unix://app:secret@")), "sent:*")
    assert wire.wait(0.5) is None
    assert not wire.is_up
