"""The relay: publishing, rescuing, finding lost messages, leading."""

from __future__ import annotations

import math
import time
from uuid import uuid4

import pytest

from db.session import Database
from db.transaction import DatabaseAway
from tasks.records import Failure
from tasks.relay import lead
from tests.tasks.layer import JOIN, RERUN, Layer
from tests.waiting import until


@pytest.fixture
def small(database: Database, redis_url: str) -> Layer:
    """A layer with a window of 3."""
    return Layer(database, redis_url, window=3)


def test_due_tasks_are_published_up_to_the_window_and_in_order(small: Layer) -> None:
    ids = [small.submit() for _ in range(8)]
    small.relay.round()
    assert small.messages() == set(ids[:3])
    small.claim(ids[0]).complete(lambda tx: None)
    small.relay.round()
    assert {task_id for task_id in ids if small.task(task_id).state == "queued"} == set(ids[1:4])


def test_a_round_that_had_much_of_the_window_to_fill_is_followed_by_another_soon(
    database: Database, redis_url: str
) -> None:
    layer = Layer(database, redis_url, window=20)
    ids = [layer.submit() for _ in range(30)]
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    assert 0 < layer.relay.round() < 1
    layer.claim(ids[0]).complete(lambda tx: None)
    assert layer.relay.round() == math.inf
    for task_id in ids[1:4]:
        layer.claim(task_id).complete(lambda tx: None)
    assert 0 < layer.relay.round() < 1


def test_a_task_is_not_published_before_it_is_due(layer: Layer) -> None:
    task_id = layer.submit()
    layer.work.snooze(layer.claim(task_id), None, for_s=30)
    layer.relay.round()
    assert layer.task(task_id).state == "pending"
    layer.do("UPDATE tasks SET run_at = clock_timestamp()")
    layer.relay.round()
    assert layer.task(task_id).state == "queued"


def test_urgent_tasks_go_first_and_polls_to_the_back(small: Layer) -> None:
    ids = [small.submit() for _ in range(6)]
    small.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    small.do("UPDATE tasks SET priority = -1 WHERE id = :id", id=ids[5])
    small.do("UPDATE tasks SET run_at = clock_timestamp() WHERE id = :id", id=ids[0])
    small.relay.round()
    assert {i for i, task_id in enumerate(ids) if small.task(task_id).state == "queued"} == {5, 1, 2}


def test_a_lost_message_is_sent_again_and_runs_once(layer: Layer) -> None:
    task_id = layer.submit()
    layer.client.flushdb()
    until(lambda: layer.relay.round() is None or layer.messages() == {task_id})
    assert layer.metric("relay_recovered_total", kind="join", reason="message-lost") == 1
    layer.claim(task_id).complete(lambda tx: None)
    assert layer.task(task_id).attempts == 1


def test_a_message_that_waits_in_redis_is_not_sent_twice(layer: Layer) -> None:
    layer.submit()
    for _ in range(5):
        layer.relay.round()
    assert layer.client.llen("dramatiq:join") == 1


def test_a_dead_workers_task_comes_back_and_the_attempt_counts(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id)
    layer.rescue(task_id)
    task = layer.task(task_id)
    assert (task.state, task.attempts) == ("queued", 1)
    assert layer.attempts(task_id)[0].error_type == "worker-lost"
    assert layer.metric("relay_recovered_total", kind="join", reason="lease-expired") == 1


def test_a_task_that_kills_its_worker_every_time_fails(layer: Layer) -> None:
    task_id = layer.submit()
    for _ in range(JOIN.max_attempts):
        layer.claim(task_id)
        layer.rescue(task_id)
    task = layer.task(task_id)
    assert (task.state, task.error and task.error.type) == ("failed", "worker-lost")


def test_a_live_lease_is_not_rescued(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id)
    for _ in range(3):
        layer.relay.round()
    assert layer.task(task_id).state == "processing"


def test_nothing_is_rescued_for_a_lease_after_a_failed_round(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id)
    layer.expire(task_id)
    until(lambda: layer.column("SELECT pg_postmaster_start_time() < now() - interval '2.5 s'") == [True])
    layer.do("ALTER TABLE queues RENAME TO gone")
    with pytest.raises(Exception, match="queues"):
        layer.relay.round()
    layer.do("ALTER TABLE gone RENAME TO queues")
    layer.relay.round()
    assert layer.task(task_id).state == "processing"
    until(lambda: layer.relay.round() is None or layer.task(task_id).state != "processing")


def test_one_process_leads_a_round_and_another_the_next(layer: Layer, database: Database) -> None:
    task_id = layer.submit()
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    with database.transaction() as leader:
        assert leader.execute("SELECT pg_try_advisory_xact_lock(7311202)").scalar_one()
        layer.relay.round()
        assert layer.task(task_id).state == "pending"
    layer.relay.round()
    assert layer.task(task_id).state == "queued"


def test_old_completed_tasks_go_with_their_history_and_failed_ones_stay(layer: Layer) -> None:
    done, dead, fresh = layer.submit(), layer.submit(), layer.submit()
    layer.claim(done).complete(lambda tx: None)
    layer.claim(fresh).complete(lambda tx: None)
    layer.work.fail(layer.claim(dead), Failure("broken", "it broke"))
    layer.do("UPDATE tasks SET finished_at = now() - interval '2 h' WHERE id <> :id", id=fresh)
    layer.relay.round()
    assert set(layer.column("SELECT id FROM tasks")) == {dead, fresh}
    assert layer.events(done) == []
    assert layer.attempts(done) == []
    assert layer.events(dead) != []


def test_messages_of_many_tasks_are_sent_in_one_go(database: Database, redis_url: str) -> None:
    layer = Layer(database, redis_url, window=500)
    with database.transaction() as tx:
        for _ in range(300):
            layer.submitter.submit(tx, RERUN.name, uuid4())
    layer.client.flushdb()
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    layer.relay.round()
    assert len(layer.messages(RERUN)) == 300


def test_who_led_a_round_knows_when_and_who_found_it_led_does_not(layer: Layer, database: Database) -> None:
    with database.transaction() as leader:
        assert lead(leader)
        layer.relay.round()
        assert layer.relay.led_at is None
    layer.relay.round()
    [age_s] = layer.column(
        "SELECT extract(epoch FROM clock_timestamp() - CAST(:led_at AS timestamptz))",
        led_at=layer.relay.led_at,
    )
    assert 0 <= age_s < 5


def test_a_leader_that_hangs_in_its_transaction_loses_the_lead_within_seconds(
    layer: Layer, database: Database
) -> None:
    task_id = layer.submit()
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    with pytest.raises(DatabaseAway), database.transaction() as leader:  # noqa: PT012 - as the block is
        assert lead(leader)
        begun_s = time.monotonic()
        until(lambda: layer.relay.round() is None or layer.task(task_id).state == "queued")
        assert time.monotonic() - begun_s < 5


def test_one_who_hangs_with_a_subject_locked_holds_up_the_rescue_of_no_other(
    layer: Layer, database: Database
) -> None:
    stuck, other = layer.submit(), layer.submit()
    for task_id in (stuck, other):
        layer.claim(task_id)
    until(lambda: layer.column("SELECT pg_postmaster_start_time() < now() - interval '2.5 s'") == [True])
    with database.transaction() as tx:
        layer.subjects.lock(tx, layer.task(stuck).subject)
        for task_id in (stuck, other):
            layer.expire(task_id)
        layer.relay.round()
        assert layer.task(other).state != "processing"
        assert layer.task(stuck).state == "processing"
    until(lambda: layer.relay.round() is None or layer.task(stuck).state != "processing")


def test_an_expired_task_of_a_kind_that_this_version_doesnt_know_is_left_to_others(layer: Layer) -> None:
    unknown, known = layer.submit(), layer.submit()
    for task_id in (unknown, known):
        layer.claim(task_id)
        layer.expire(task_id)
    layer.do("UPDATE tasks SET kind = 'newer' WHERE id = :id", id=unknown)
    layer.rescue(known)
    assert layer.task(unknown).state == "processing"


def test_a_mass_requeue_never_fills_the_window_before_what_is_fresh(layer: Layer) -> None:
    bulk = [layer.submit() for _ in range(60)]
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL, priority = 10")
    layer.client.flushdb()
    layer.relay.round()
    assert len(layer.messages()) == 20
    fresh = layer.submit()
    assert layer.task(fresh).state == "queued"
    assert fresh not in bulk
