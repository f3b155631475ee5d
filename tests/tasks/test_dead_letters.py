"""Dead letters, queues' switches and cancelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID, uuid4

import pytest

from tasks.errors import StaleMessage
from tasks.filter import Filter
from tasks.records import Failure
from tests.tasks.layer import JOIN, RERUN, Layer, together


def fail(layer: Layer, subject: UUID | None = None, error_type: str = "broken") -> UUID:
    """A task that failed."""
    task_id = layer.submit(JOIN, subject)
    layer.work.fail(layer.claim(task_id), Failure(error_type, "it broke"))
    return task_id


def test_a_requeued_task_has_all_its_attempts_again_and_runs(layer: Layer) -> None:
    task_id = fail(layer)
    assert layer.dead_letters.requeue(task_id) == "requeued"
    assert (layer.task(task_id).state, layer.task(task_id).attempts) == ("pending", 0)
    layer.relay.round()
    layer.claim(task_id).complete(lambda tx: None)
    assert layer.task(task_id).state == "completed"
    assert layer.dead_letters.requeue(task_id) == "unchanged"
    assert "task-requeued" in layer.events(task_id)


def test_a_requeue_joins_a_live_twin(layer: Layer) -> None:
    subject = uuid4()
    dead = fail(layer, subject)
    live = layer.submit(JOIN, subject)
    assert layer.dead_letters.requeue(dead) == "joined"
    assert (layer.task(dead).state, layer.task(live).state) == ("discarded", "queued")


def test_a_mass_requeue_of_twins_runs_the_newest_and_discards_the_older(layer: Layer) -> None:
    subject = uuid4()
    twins = [fail(layer, subject) for _ in range(5)]
    other = fail(layer)
    assert layer.dead_letters.requeue_all(Filter()).outcomes == {"requeued": 2, "unchanged": 4}
    assert [layer.task(task_id).state for task_id in twins] == ["discarded"] * 4 + ["pending"]
    assert layer.task(other).state == "pending"


def test_concurrent_requeues_and_submits_of_twins_leave_one_live_task(layer: Layer) -> None:
    subject = uuid4()
    twins = [fail(layer, subject) for _ in range(6)]
    jobs: list[Callable[[], object]] = [partial(layer.dead_letters.requeue, task_id) for task_id in twins]
    jobs += [partial(layer.submit, JOIN, subject)] * 6
    assert together(jobs) == []
    live = "SELECT count(*) FROM tasks WHERE state IN ('pending', 'queued', 'processing')"
    assert layer.column(live) == [1]


def test_a_filter_means_kind_and_error_type(layer: Layer) -> None:
    broken, lost = fail(layer), fail(layer, error_type="worker-lost")
    assert layer.dead_letters.count(Filter(error_type="broken")) == 1
    assert layer.dead_letters.count(Filter(kind="rerun")) == 0
    assert layer.dead_letters.discard_all(Filter(error_type="broken")).outcomes == {"discarded": 1}
    assert (layer.task(broken).state, layer.task(lost).state) == ("discarded", "failed")


def test_a_mass_requeue_is_paced_and_fresh_tasks_go_first(layer: Layer) -> None:
    for _ in range(10):
        fail(layer)
    layer.dead_letters.requeue_all(Filter(), rate_per_s=2.0)
    [spread_s] = layer.column("SELECT extract(epoch FROM max(run_at) - min(run_at))::float8 FROM tasks")
    assert 4 < spread_s < 6
    fresh = layer.submit()
    layer.do(
        "UPDATE tasks SET run_at = clock_timestamp() - interval '1 s', state = 'pending', queued_at = NULL"
    )
    order = layer.column("SELECT id FROM tasks ORDER BY priority, run_at, id")
    assert order[0] == fresh


def test_what_isnt_there_is_told(layer: Layer) -> None:
    for action in (layer.dead_letters.requeue, layer.dead_letters.discard, layer.dead_letters.cancel):
        with pytest.raises(LookupError):
            action(uuid4())
    with pytest.raises(LookupError):
        layer.queues.set_paused("nonsense", True)


@pytest.mark.parametrize("state", ["queued", "pending"])
def test_a_waiting_task_can_be_cancelled_and_never_runs(layer: Layer, state: str) -> None:
    task_id = layer.submit()
    if state == "pending":
        layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    assert layer.dead_letters.cancel(task_id) == "cancelled"
    assert layer.dead_letters.cancel(task_id) == "unchanged"
    with pytest.raises(StaleMessage):
        layer.claim(task_id)


def test_paused_tasks_in_hand_finish_none_begins_and_new_ones_wait(layer: Layer) -> None:
    in_hand, queued = layer.submit(), layer.submit()
    claim = layer.claim(in_hand)
    layer.queues.set_paused(JOIN.name, True)
    claim.complete(lambda tx: None)
    late = layer.submit()
    layer.relay.round()
    assert [layer.task(task_id).state for task_id in (in_hand, queued, late)] == [
        "completed",
        "pending",
        "pending",
    ]
    with pytest.raises(StaleMessage):
        layer.claim(queued)
    assert layer.task(layer.submit(RERUN)).state == "queued"
    layer.queues.set_paused(JOIN.name, False)
    layer.relay.round()
    assert [layer.task(task_id).state for task_id in (queued, late)] == ["queued", "queued"]


def test_a_completed_task_supersedes_the_failed_ones_before_it(layer: Layer) -> None:
    subject = uuid4()
    dead = fail(layer, subject)
    layer.claim(layer.submit(JOIN, subject)).complete(lambda tx: None)
    assert layer.task(dead).state == "discarded"


def test_a_requeued_task_runs_once_even_if_it_was_asked_for_again_before(layer: Layer) -> None:
    subject = uuid4()
    task_id = layer.submit(RERUN, subject)
    claim = layer.claim(task_id, RERUN)
    layer.submit(RERUN, subject)
    layer.work.fail(claim, Failure("broken", "it broke"))
    [second] = layer.column("SELECT id FROM tasks WHERE state = 'queued'")
    layer.work.fail(layer.claim(second, RERUN), Failure("broken", "it broke"))
    assert layer.dead_letters.requeue(task_id) == "requeued"
    layer.relay.round()
    layer.claim(task_id, RERUN).complete(lambda tx: None)
    assert layer.column("SELECT count(*) FROM tasks WHERE state IN ('pending', 'queued')") == [0]
