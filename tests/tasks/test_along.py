"""A task that one of the same subject takes along: claimed, kept and completed with it, or given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from db.session import Database
from tasks import claim_statements as sql
from tasks import figures
from tasks.claim import Claim
from tasks.errors import LeaseLost
from tasks.records import Ended, Wanted
from tasks.work import Work
from tests.tasks.layer import ALONG, LEAD, Layer, LosesAnswers

LONG_AGO = "UPDATE tasks SET run_at = run_at - interval '1 hour' WHERE id = :id"


def pair(layer: Layer) -> tuple[UUID, UUID]:
    """Submit a task of each kind for one subject: (the one that leads, the one to be taken along)."""
    with layer.database.transaction() as tx:
        lead, along = layer.submitter.submit_each(tx, [LEAD.name, ALONG.name], uuid4())
    return lead.id, along.id


def taken(claim: Claim) -> Claim:
    """What a claim took along."""
    assert claim.along is not None
    return claim.along


def test_it_waits_without_a_message_for_the_one_it_was_submitted_with(layer: Layer) -> None:
    lead, along = pair(layer)
    assert (layer.task(lead).state, layer.task(along).state) == ("queued", "pending")
    layer.relay.round()
    assert layer.messages(LEAD) == {lead}
    assert layer.messages(ALONG) == set()


def test_submitted_alone_it_goes_at_once(layer: Layer) -> None:
    along = layer.submit(ALONG)
    assert layer.messages(ALONG) == {along}


def test_both_are_claimed_at_once_and_completed_in_one_transaction(layer: Layer) -> None:
    lead, along = pair(layer)
    claim = layer.claim(lead, LEAD)
    assert (taken(claim).task.id, layer.task(along).state) == (along, "processing")
    transactions = []

    def save(tx) -> None:  # type: ignore[no-untyped-def]
        transactions.append(tx.execute("SELECT pg_current_xact_id()::text").scalar_one())

    claim.complete(save, along=save)
    assert len(transactions) == 2
    assert len(set(transactions)) == 1
    for task_id in (lead, along):
        assert layer.events(task_id) == ["task-submitted", "task-started", "task-completed"]
        assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["completed"]
    assert layer.subjects.settled == [claim.subject]
    assert layer.metric("tasks_total", kind="along", outcome="completed") == 1
    assert layer.work.held() == []


def test_it_has_waited_since_it_was_submitted(layer: Layer) -> None:
    lead, along = pair(layer)
    layer.do("UPDATE tasks SET created_at = created_at - interval '1 hour' WHERE id = :id", id=along)
    assert 3600 <= taken(layer.claim(lead, LEAD)).task.waited_s < 3660


def test_not_completed_it_is_given_back_with_its_attempt_and_runs_by_itself(layer: Layer) -> None:
    lead, along = pair(layer)
    with layer.work.claimed(LEAD.name, str(lead)) as claim:
        claim.complete(lambda tx: None)
    assert (layer.task(lead).state, layer.task(along).state, layer.task(along).attempts) == (
        "completed",
        "pending",
        0,
    )
    layer.relay.round()
    assert layer.messages(ALONG) == {along}
    layer.claim(along, ALONG).complete(lambda tx: None)
    assert layer.task(along).state == "completed"


def test_it_is_given_back_by_a_block_that_raises(layer: Layer) -> None:
    lead, along = pair(layer)
    with pytest.raises(KeyError), layer.work.claimed(LEAD.name, str(lead)):
        raise KeyError
    assert (layer.task(lead).state, layer.task(along).state) == ("processing", "pending")


def test_after_its_time_it_runs_by_itself(layer: Layer) -> None:
    lead, along = pair(layer)
    layer.do(LONG_AGO, id=along)
    layer.relay.round()
    assert layer.messages(ALONG) == {along}
    assert layer.claim(lead, LEAD).along is None  # it has a message of its own by now
    assert layer.claim(along, ALONG).task.id == along


@pytest.mark.parametrize("change", [{"paused": True}, {"rate_per_s": 5.0}])
def test_from_a_queue_that_is_paused_or_slowed_nothing_is_taken_along(
    layer: Layer, change: dict[str, object]
) -> None:
    lead, along = pair(layer)
    (name,) = change
    layer.do(
        f"INSERT INTO queues (name, {name}) VALUES ('along', :value)"
        f" ON CONFLICT (name) DO UPDATE SET {name} = :value",
        value=change[name],
    )
    assert layer.claim(lead, LEAD).along is None
    assert layer.task(along).state == "pending"


def test_what_someone_had_in_hand_before_is_not_taken_along(layer: Layer) -> None:
    lead, along = pair(layer)
    with layer.work.claimed(LEAD.name, str(lead)) as claim:
        layer.work.snooze(claim, None, for_s=0.0)
    layer.relay.round()
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL WHERE id = :id", id=along)
    assert layer.claim(lead, LEAD).along is None


def test_one_that_was_cancelled_meanwhile_keeps_the_other_from_nothing(layer: Layer) -> None:
    lead, along = pair(layer)
    claim = layer.claim(lead, LEAD)
    layer.dead_letters.cancel(along)
    saved: list[str] = []
    claim.complete(lambda tx: saved.append("lead"), along=lambda tx: saved.append("along"))
    assert (saved, layer.task(lead).state, layer.task(along).state) == (["lead"], "completed", "cancelled")


def test_it_is_completed_though_the_other_was_cancelled_meanwhile(layer: Layer) -> None:
    lead, along = pair(layer)
    claim = layer.claim(lead, LEAD)
    layer.dead_letters.cancel(lead)
    with pytest.raises(LeaseLost):
        claim.complete(lambda tx: None, along=lambda tx: None)
    assert (layer.task(lead).state, layer.task(along).state) == ("cancelled", "completed")


def test_heartbeats_keep_both_and_a_dead_workers_come_back_both(layer: Layer) -> None:
    lead, along = pair(layer)
    claim = layer.claim(lead, LEAD)
    for task_id in (lead, along):
        layer.expire(task_id)
    layer.work.heartbeat()
    assert not claim.lost.is_set()
    assert not taken(claim).lost.is_set()
    layer.relay.round()
    assert {layer.task(task_id).state for task_id in (lead, along)} == {"processing"}
    for task_id in (lead, along):
        layer.rescue(task_id)
    assert {layer.attempts(task_id)[0].error_type for task_id in (lead, along)} == {"worker-lost"}


def test_it_has_no_time_limit_but_the_others(layer: Layer) -> None:
    lead, _ = pair(layer)
    along = taken(layer.claim(lead, LEAD))
    along.begun_s -= 3600
    layer.work.enforce_limits()  # else this thread would be interrupted here
    assert not along.ended


def test_each_of_several_that_are_claimed_together_gets_its_own(layer: Layer) -> None:
    pairs = [pair(layer) for _ in range(3)]
    alone = layer.submit(LEAD)
    wanted = [Wanted(lead, None, 5.0, ALONG.name) for lead, _ in pairs] + [Wanted(alone, None, 5.0)]
    claimed = layer.work._claim_all(wanted)
    assert [tuple(task.id for task in each) for each in claimed] == [*pairs, (alone,)]


def test_one_that_someone_has_locked_is_left_and_runs_by_itself_right_after(
    database: Database, layer: Layer
) -> None:
    lead, along = pair(layer)
    with database.transaction() as tx:
        tx.execute("SELECT FROM tasks WHERE id = :id FOR UPDATE", {"id": along})
        block = layer.work.claimed(LEAD.name, str(lead))
        claim = block.__enter__()
    assert claim.along is None
    layer.relay.round()
    assert layer.task(along).state == "pending"
    claim.complete(lambda tx: None)
    block.__exit__(None, None, None)
    layer.relay.round()
    assert layer.messages(ALONG) >= {along}


def test_a_claim_whose_answer_was_lost_has_both_in_hand(unsure: LosesAnswers, redis_url: str) -> None:
    layer = Layer(unsure, redis_url)
    lead, along = pair(layer)
    unsure.lose = 1
    claim = layer.claim(lead, LEAD)
    assert (claim.task.id, taken(claim).task.id) == (lead, along)
    assert {layer.task(task_id).attempts for task_id in (lead, along)} == {1}


def test_a_completion_whose_answer_was_lost_takes_effect_once_for_both(
    unsure: LosesAnswers, redis_url: str
) -> None:
    layer = Layer(unsure, redis_url)
    lead, along = pair(layer)
    claim = layer.claim(lead, LEAD)
    unsure.lose = 1
    claim.complete(lambda tx: None, along=lambda tx: None)
    for task_id in (lead, along):
        assert layer.events(task_id) == ["task-submitted", "task-started", "task-completed"]


def test_it_is_found_by_its_kind_and_subject_however_many_wait(database: Database, layer: Layer) -> None:
    fill = """
    INSERT INTO tasks (id, kind, queue, subject, state, max_attempts, finished_at)
    SELECT gen_random_uuid(), 'along', 'along', gen_random_uuid(), CAST(:state AS text), 3,
           CASE WHEN :state = 'completed' THEN now() END
    FROM generate_series(1, 20000)
    """
    asked = {
        "id": [uuid4()],
        "dispatch": [1],
        "limit_s": [5.0],
        "along": [ALONG.name],
        "worker": "w1",
        "lease_s": 5.0,
    }
    with database.statement() as tx:
        tx.execute(fill, {"state": "completed"})
        tx.execute("VACUUM ANALYZE tasks")  # what the planner knows is of before the rush
        tx.execute(fill, {"state": "pending"})
        for statement in (sql.CLAIM, sql.CLAIM_MANY):
            plan = "\n".join(tx.execute(f"EXPLAIN {statement.sql}", asked).scalars())
            assert "uq_tasks_live" in plan, plan
            assert "ix_tasks" not in plan, plan


def test_the_others_time_limit_does_not_strike_while_it_is_given_back(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, along = pair(layer)
    end = layer.work._endings.end

    def slowly(*args: Any, **options: Any) -> Ended:
        claim.begun_s -= 3600
        layer.work.enforce_limits()  # it would raise in this thread
        return end(*args, **options)

    monkeypatch.setattr(layer.work._endings, "end", slowly)
    with pytest.raises(KeyError), layer.work.claimed(LEAD.name, str(lead)) as claim:
        raise KeyError
    assert layer.task(along).state == "pending"


def test_it_takes_no_slot_of_its_own(database: Database, layer: Layer) -> None:
    lead, _ = pair(layer)
    layer.claim(lead, LEAD)
    layer.claim(layer.submit(ALONG), ALONG)
    with database.transaction() as tx:
        found = figures.figures(tx)
    assert (found.depth["along", "processing"], found.busy_slots) == (2, 2)


def test_given_back_it_isnt_measured_as_begun(layer: Layer) -> None:
    lead, along = pair(layer)
    with layer.work.claimed(LEAD.name, str(lead)) as claim:
        claim.complete(lambda tx: None)
    assert layer.metric("task_wait_seconds_count", kind="along") == 0
    layer.relay.round()
    layer.claim(along, ALONG).complete(lambda tx: None)
    assert layer.metric("task_wait_seconds_count", kind="along") == 1


def test_two_kinds_cant_go_along_with_the_same(layer: Layer) -> None:
    kinds = {"lead": LEAD, "along": ALONG, "too": replace(ALONG, name="too")}
    with pytest.raises(ValueError, match="not several"):
        Work(layer.database, layer.work._endings, kinds, layer.work._metrics, worker="w", lease_s=1.0)
