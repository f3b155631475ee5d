"""A task that waits for something slow: it polls, and each poll is no failure."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

import pytest

from db.session import Database
from db.transaction import Transaction
from tasks import states
from tasks.errors import LeaseLost, StaleMessage
from tasks.records import Failure
from tests.tasks.layer import JOIN, Layer


@pytest.fixture
def layer(database: Database, redis_url: str) -> Layer:
    """The task layer."""
    return Layer(database, redis_url)


def nothing(tx: Transaction) -> None:
    """Saves no result."""


def note(text: str, tx: Transaction) -> None:
    """A result row: an event, for want of a domain."""
    tx.execute("INSERT INTO events (type, subject) VALUES (:type, gen_random_uuid())", {"type": text})


def due_now(layer: Layer) -> None:
    """Let all waits be over, in the order in which they end."""
    layer.do("UPDATE tasks SET run_at = run_at - interval '1 hour' WHERE state = 'pending'")


def test_a_poll_stores_what_there_is_and_runs_again_later(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id).poll(partial(note, "half"), for_s=30.0)
    task = layer.task(task_id)
    assert (task.state, task.attempts, task.error) == ("pending", 0, None)
    [wait_s] = layer.column(
        "SELECT extract(epoch FROM run_at - clock_timestamp())::float8 FROM tasks WHERE id = :id", id=task_id
    )
    assert 25 < wait_s <= 30
    assert layer.column("SELECT count(*) FROM events WHERE type = 'half'") == [1]
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["snoozed"]
    assert layer.metric("tasks_total", kind="join", outcome="snoozed") == 1


def test_a_poll_by_a_worker_that_lost_its_task_stores_nothing(layer: Layer) -> None:
    task_id = layer.submit()
    zombie = layer.claim(task_id)
    layer.rescue(task_id)
    layer.claim(task_id)
    with pytest.raises(LeaseLost):
        zombie.poll(partial(note, "half"), for_s=30.0)
    assert layer.column("SELECT count(*) FROM events WHERE type = 'half'") == [0]
    assert layer.task(task_id).state == "processing"


def test_polls_are_counted_and_give_all_attempts_back(layer: Layer) -> None:
    task_id = layer.submit()
    for number in range(2 * JOIN.max_attempts):
        claim = layer.claim(task_id)
        assert claim.task.polls == number // 2
        if number % 2:
            claim.poll(nothing, for_s=0.0)
        else:
            layer.work.retry(claim, Failure("broken", "just now"))
        due_now(layer)
        layer.relay.round()
    assert layer.task(task_id).state == "queued"


def test_a_task_knows_since_when_it_is_worked_on(layer: Layer) -> None:
    task_id = layer.submit()
    first = layer.claim(task_id)
    first.poll(nothing, for_s=0.0)
    layer.do("UPDATE tasks SET begun_at = begun_at - interval '100 s'")
    layer.relay.round()
    second = layer.claim(task_id)
    assert first.task.age_s == pytest.approx(0, abs=1)
    assert second.task.age_s == pytest.approx(100, abs=30)


def test_what_is_given_up_keeps_its_results_and_begins_anew_when_requeued(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id).poll(nothing, for_s=0.0)
    layer.relay.round()
    layer.claim(task_id).give_up(Failure("broken", "too long"), partial(note, "half"))
    assert layer.task(task_id).state == "failed"
    assert layer.column("SELECT count(*) FROM events WHERE type = 'half'") == [1]
    layer.dead_letters.requeue(task_id)
    layer.relay.round()
    claim = layer.claim(task_id)
    assert claim.task.polls == 0
    assert claim.task.age_s == pytest.approx(0, abs=1)


def test_tasks_that_poll_take_turns(database: Database, redis_url: str) -> None:
    layer = Layer(database, redis_url, window=7)
    tasks = [layer.submit(subject=uuid4()) for _ in range(50)]
    polls = dict.fromkeys(tasks, 0)
    for _ in range(3 * len(tasks)):
        layer.relay.round()
        queued = layer.column("SELECT id FROM tasks WHERE state = 'queued' ORDER BY queued_at, run_at, id")
        task_id = queued[0]
        layer.claim(task_id).poll(nothing, for_s=0.0)
        polls[task_id] += 1
        assert max(polls.values()) - min(polls.values()) <= 1
    assert set(polls.values()) == {3}


def test_a_message_from_before_the_last_publishing_is_stale(layer: Layer) -> None:
    task_id = layer.submit()
    layer.relay.round()
    layer.do(
        "UPDATE tasks SET queued_at = queued_at - interval '1 hour', sent_at = sent_at - interval '1 hour'"
    )
    layer.client.flushdb()
    layer.relay.round()  # the second message; the first is in some worker's memory all the same
    layer.work.received(f"{task_id}.1")
    layer.claim(task_id).poll(nothing, for_s=0.0)
    layer.relay.round()
    for stale in (1, 2):
        layer.work.received(f"{task_id}.{stale}")
        with pytest.raises(StaleMessage):
            layer.claim(task_id)
    layer.work.received(f"{task_id}.3")
    assert layer.claim(task_id).task.polls == 1


def test_what_is_published_together_goes_in_the_order_of_the_line(layer: Layer) -> None:
    layer.queues.set_paused(JOIN.name, True)
    tasks = [layer.submit() for _ in range(40)]
    line = tasks[::-1]
    for place, task_id in enumerate(line):
        layer.do(
            "UPDATE tasks SET run_at = run_at - make_interval(hours => 50 - :place) WHERE id = :id",
            place=place,
            id=task_id,
        )
    with layer.database.transaction() as tx:
        tx.execute("UPDATE queues SET paused = false")
        published = states.publish(tx, JOIN, window=100)
    assert [dispatch.task_id for dispatch in published] == line
