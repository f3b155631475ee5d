"""A worker's threads: limits that end work, dependencies that are away, a stop that loses nothing."""

from __future__ import annotations

import inspect
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from dramatiq import Message
from dramatiq.brokers.stub import StubBroker
from dramatiq.worker import ConsumerThread

from actors import exif, preview
from actors.beside import _is_news
from db.session import Database
from imaging.errors import NotAnImage
from imaging.sandbox import Sandbox
from observability.logs import JsonFormatter, logging_with
from storage.errors import StoreAway
from tasks.claim import Claim
from tasks.errors import LeaseLost, StaleMessage, Transient
from tasks.kinds import Kind
from tests.actors.worker import running
from tests.tasks.layer import JOIN, KINDS, RERUN, Layer
from tests.waiting import until

LIMITED = Kind("slow", max_attempts=1, time_limit_s=1.0)
HUNG_S = 60


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Two decoder processes."""
    sandbox = Sandbox(2, 2**31)
    sandbox.call(abs, 1, time_limit_s=30)
    yield sandbox
    sandbox.close()


@pytest.fixture
def layer(database: Database, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Layer:
    """The task layer, with a kind that has one second."""
    monkeypatch.setitem(KINDS, LIMITED.name, LIMITED)
    return Layer(database, redis_url, lease_s=2.0)


def finish(claim: Claim) -> None:
    """Do nothing, successfully."""
    claim.complete(lambda tx: None)


def test_work_that_hangs_in_c_ends_at_its_limit_and_frees_the_slot(layer: Layer, sandbox: Sandbox) -> None:
    def hang(claim: Claim) -> None:
        sandbox.call(time.sleep, HUNG_S, time_limit_s=claim.left_s)

    hung, next_one = layer.submit(LIMITED), None
    with running(layer, sandbox, {LIMITED: hang, JOIN: finish}):
        until(lambda: layer.task(hung).state == "processing")
        begun_s = time.monotonic()
        next_one = layer.submit(JOIN)
        until(lambda: layer.task(next_one).state == "completed")
        assert time.monotonic() - begun_s < LIMITED.time_limit_s + 2 + 3
    task = layer.task(hung)
    assert (task.state, task.error and task.error.type) == ("failed", "time-limit")


@pytest.mark.parametrize("module", [preview, exif])
def test_who_waits_for_a_decoder_holds_no_task_whose_time_runs(sandbox: Sandbox, module: ModuleType) -> None:
    claimed = threading.Event()

    @contextmanager
    def claim(kind: str, task_id: str) -> Iterator[None]:
        claimed.set()
        raise StaleMessage
        yield

    broker = StubBroker()
    module.declare(broker, SimpleNamespace(sandbox=sandbox, work=SimpleNamespace(claimed=claim)))
    (name,) = broker.actors
    with ThreadPoolExecutor(1) as pool:
        with sandbox.slot(), sandbox.slot():
            waiting = pool.submit(broker.get_actor(name).fn, "id")
            assert not claimed.wait(0.3)
        with pytest.raises(StaleMessage):
            waiting.result(timeout=30)


def test_python_code_that_hangs_is_interrupted_and_frees_the_slot(layer: Layer, sandbox: Sandbox) -> None:
    def hang(claim: Claim) -> None:
        until_s = time.monotonic() + HUNG_S
        while time.monotonic() < until_s:
            time.sleep(0.01)

    hung = layer.submit(LIMITED)
    with running(layer, sandbox, {LIMITED: hang, JOIN: finish}):
        until(lambda: layer.task(hung).state == "failed")
        next_one = layer.submit(JOIN)
        until(lambda: layer.task(next_one).state == "completed")
    error = layer.task(hung).error
    assert error is not None
    assert error.type == "time-limit"


def test_a_task_whose_store_is_away_is_snoozed_and_uses_no_attempt(layer: Layer, sandbox: Sandbox) -> None:
    away = threading.Event()
    away.set()

    def need_the_store(claim: Claim) -> None:
        if away.is_set():
            raise StoreAway("disk full")
        finish(claim)

    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: need_the_store}):
        for _ in range(JOIN.max_attempts + 2):
            seen = len(layer.attempts(task_id))
            until(lambda seen=seen: len(layer.attempts(task_id)) > seen)  # type: ignore[misc]
            until(lambda: layer.task(task_id).state == "pending")
            assert layer.task(task_id).attempts == 0
            layer.do("UPDATE tasks SET run_at = clock_timestamp()")
        away.clear()
        layer.do("UPDATE tasks SET run_at = clock_timestamp() WHERE state = 'pending'")
        until(lambda: layer.task(task_id).state == "completed")
    assert {attempt.outcome for attempt in layer.attempts(task_id)} == {"snoozed", "completed"}


def test_a_permanent_error_is_a_dead_letter_with_its_traceback(layer: Layer, sandbox: Sandbox) -> None:
    def refuse(claim: Claim) -> None:
        raise NotAnImage("it seems to be text")

    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: refuse}):
        until(lambda: layer.task(task_id).state == "failed")
    [attempt] = layer.attempts(task_id)
    assert (attempt.error_type, attempt.error_detail) == ("not-an-image", "it seems to be text")
    assert "in refuse" in (attempt.traceback or "")


def test_a_bug_is_retried_and_then_a_dead_letter(layer: Layer, sandbox: Sandbox) -> None:
    def divide(claim: Claim) -> None:
        claim.begun_s /= 0

    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: divide}):
        until(lambda: layer.task(task_id).state == "failed")
    assert [attempt.error_type for attempt in layer.attempts(task_id)] == ["internal-error"] * 3


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    """What is logged from now on, as the service's own lines; at every level."""
    entries: list[dict[str, Any]] = []

    class Listing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            entries.append(json.loads(self.format(record)))

    listing, root = Listing(), logging.getLogger()
    listing.setFormatter(JsonFormatter())
    level = root.level
    root.addHandler(listing)
    root.setLevel(logging.DEBUG)
    yield entries
    root.removeHandler(listing)
    root.setLevel(level)


def test_from_claim_to_end_every_line_says_what_it_is_about(
    layer: Layer, sandbox: Sandbox, logged: list[dict[str, Any]]
) -> None:
    def work(claim: Claim) -> None:
        logging.getLogger("some.room").info("at work")
        if claim.task.attempts == 1:
            raise Transient("the remote is busy", code="broken")
        finish(claim)

    with logging_with(trace_id="f" * 32):
        task_id = layer.submit()
    with running(layer, sandbox, {JOIN: work}):
        until(lambda: layer.task(task_id).state == "completed")
        until(lambda: any(entry["message"] == "task completed" for entry in logged))
    about = {"trace_id": "f" * 32, "task_id": str(task_id), "kind": "join", "worker": "w1"}
    told = [(entry["message"], entry["attempt"]) for entry in list(logged) if about.items() <= entry.items()]
    assert told == [
        ("claimed", "1"),
        ("at work", "1"),
        ("task retried", "1"),
        ("claimed", "2"),
        ("at work", "2"),
        ("task completed", "2"),
    ]
    [retried] = [entry for entry in logged if entry["message"] == "task retried"]
    assert (retried["error_type"], retried["error"], retried["level"]) == (
        "broken",
        "the remote is busy",
        "warning",
    )
    assert retried["again_in_s"] >= -1
    assert not any("photo_id" in entry for entry in logged if entry["logger"] == "tasks.relay")


def test_a_bug_is_logged_with_its_place_and_without_what_it_quotes(
    layer: Layer, sandbox: Sandbox, logged: list[dict[str, Any]]
) -> None:
    def choke(claim: Claim) -> None:
        float("47.1234 N of somebody's home")

    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: choke}):
        until(lambda: layer.task(task_id).state == "failed")
    assert "47.1234 N" in (layer.attempts(task_id)[0].traceback or "")
    bugs = [entry for entry in logged if entry["level"] == "error"]
    assert len(bugs) == JOIN.max_attempts
    assert bugs[0]["message"] == "a bug: ValueError; the attempt has it whole"
    assert bugs[0]["task_id"] == str(task_id)
    assert "test_worker.py:" in bugs[0]["where"]
    assert bugs[0]["where"].endswith(" in choke")
    assert not any("47.1234" in json.dumps(entry) for entry in logged)


def test_a_workers_consumers_are_woken_while_it_runs(layer: Layer, sandbox: Sandbox) -> None:
    with running(layer, sandbox, {JOIN: finish}):
        until(lambda: layer.broker.is_woken)
    assert not layer.broker.is_woken


def test_a_message_that_makes_no_sense_is_told(
    layer: Layer, sandbox: Sandbox, logged: list[dict[str, Any]]
) -> None:
    with running(layer, sandbox, {JOIN: finish}):
        options = {"redis_message_id": "nonsense"}
        layer.broker.enqueue_many(
            [Message("join", "join", ("nonsense",), {}, options, message_id="nonsense")]
        )
        until(lambda: any(entry["level"] == "error" for entry in logged))
    [told] = [entry for entry in logged if entry["level"] == "error"]
    assert told["message"].startswith("no task came of a message: ")


def test_only_the_consumers_lost_connection_is_not_news() -> None:
    lost = "Consumer encountered a connection error: %s"
    assert not _is_news(logging.makeLogRecord({"msg": lost, "args": ("away",)}))
    assert _is_news(logging.makeLogRecord({"msg": "Consumer encountered an unexpected error."}))
    assert f'"{lost}"' in inspect.getsource(ConsumerThread), "Dramatiq says it in other words now"


def test_an_actor_that_forgets_to_complete_its_task_is_told_as_a_bug(layer: Layer, sandbox: Sandbox) -> None:
    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: lambda claim: None}):
        until(lambda: layer.task(task_id).state == "failed")
    assert "without completing" in (layer.attempts(task_id)[0].traceback or "")


def test_what_a_stopping_worker_cant_finish_is_given_back_at_once_with_its_attempt(
    layer: Layer, sandbox: Sandbox
) -> None:
    release = threading.Event()

    def hold(claim: Claim) -> None:
        release.wait(HUNG_S)

    in_hand, waiting = layer.submit(), layer.submit()
    with running(layer, sandbox, {JOIN: hold}):
        until(lambda: "processing" in (layer.task(in_hand).state, layer.task(waiting).state))
    states = {layer.task(task_id).state for task_id in (in_hand, waiting)}
    assert states == {"pending", "queued"}
    assert [layer.task(task_id).attempts for task_id in (in_hand, waiting)] == [0, 0]
    release.set()


def test_a_stopping_worker_finishes_what_it_can(layer: Layer, sandbox: Sandbox) -> None:
    def take_a_moment(claim: Claim) -> None:
        time.sleep(0.5)
        finish(claim)

    task_id = layer.submit()
    with running(layer, sandbox, {JOIN: take_a_moment}):
        until(lambda: layer.task(task_id).state == "processing")
    assert (layer.task(task_id).state, layer.task(task_id).attempts) == ("completed", 1)


def test_a_cancelled_task_stops_at_its_next_step_and_its_result_is_not_kept(
    layer: Layer, sandbox: Sandbox
) -> None:
    stopped = threading.Event()

    def work_in_steps(claim: Claim) -> None:
        try:
            while True:
                claim.check()
                time.sleep(0.02)
        except LeaseLost:
            stopped.set()
            raise

    task_id = layer.submit(RERUN)
    with running(layer, sandbox, {RERUN: work_in_steps}):
        until(lambda: layer.task(task_id).state == "processing")
        assert layer.dead_letters.cancel(task_id) == "cancelled"
        assert stopped.wait(5)
    assert layer.task(task_id).state == "cancelled"
