"""Submit, claim, end: the states and their fences."""

from __future__ import annotations

import threading
from functools import partial
from uuid import UUID, uuid4

import pytest
from sqlalchemy.exc import IntegrityError

from db.session import Database
from db.transaction import Transaction
from tasks.errors import LeaseLost, StaleMessage, TimeLimitReached
from tasks.records import Failure, clean
from tests.tasks.layer import JOIN, RERUN, SLOW, Layer, together

BROKEN = Failure("broken", "it broke", "Traceback ...")


def nothing(tx: Transaction) -> None:
    """Save no result."""


def test_a_submitted_task_is_queued_and_its_message_sent_after_the_commit(layer: Layer) -> None:
    with layer.database.transaction() as tx:
        task_id = layer.submitter.submit(tx, JOIN.name, uuid4())
        assert layer.messages() == set()
    assert layer.messages() == {task_id}
    assert layer.task(task_id).state == "queued"
    assert layer.events(task_id) == ["task-submitted"]


def test_a_rolled_back_submit_leaves_no_row_and_no_message(layer: Layer) -> None:
    def submit_and_fail() -> None:
        with layer.database.transaction() as tx:
            layer.submitter.submit(tx, JOIN.name, uuid4())
            raise KeyError

    with pytest.raises(KeyError):
        submit_and_fail()
    assert layer.column("SELECT id FROM tasks") == []
    assert layer.messages() == set()


def test_beyond_the_window_tasks_are_born_pending(database: Database, redis_url: str) -> None:
    layer = Layer(database, redis_url, window=2)
    states = [layer.task(layer.submit()).state for _ in range(4)]
    assert states == ["queued", "queued", "pending", "pending"]
    assert len(layer.messages()) == 2


def test_behind_many_a_task_is_born_pending_and_the_relay_sends_it(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.states.BORN_WINDOW", 2)
    ids = [layer.submit() for _ in range(4)]
    assert [layer.task(task_id).state for task_id in ids] == ["queued", "queued", "pending", "pending"]
    layer.relay.round()
    assert [layer.task(task_id).state for task_id in ids] == ["queued"] * 4
    assert layer.messages() == set(ids)


def test_a_new_task_doesnt_overtake_a_due_one(layer: Layer) -> None:
    first = layer.submit()
    layer.do("UPDATE tasks SET state = 'pending', queued_at = NULL WHERE id = :id", id=first)
    assert layer.task(layer.submit()).state == "pending"


def test_one_of_many_concurrent_claims_gets_the_task(layer: Layer) -> None:
    task_id = layer.submit()
    got: list[int] = []
    raised = together([lambda: got.append(layer.claim(task_id).token)] * 16)
    assert len(got) == 1
    assert [type(error) for error in raised] == [StaleMessage] * 15
    assert layer.task(task_id).attempts == 1


def test_results_and_completed_are_committed_together(layer: Layer) -> None:
    task_id = layer.submit()
    seen: list[str] = []
    claim = layer.claim(task_id)
    claim.complete(lambda tx: seen.append(tx.execute("SELECT state FROM tasks").scalar_one()))
    task = layer.task(task_id)
    assert (seen, task.state, task.attempts) == (["completed"], "completed", 1)
    assert task.finished_at is not None
    assert layer.events(task_id) == ["task-submitted", "task-started", "task-completed"]
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["completed"]
    assert layer.subjects.settled == [task.subject]


def test_a_failing_save_leaves_the_task_in_hand(layer: Layer) -> None:
    task_id = layer.submit()
    claim = layer.claim(task_id)

    def save(tx: Transaction) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        claim.complete(save)
    assert layer.task(task_id).state == "processing"
    assert layer.work.in_hand() is claim


def test_a_zombie_can_neither_complete_nor_fail_nor_snooze(layer: Layer) -> None:
    task_id = layer.submit()
    zombie = layer.claim(task_id)
    layer.rescue(task_id)
    saved: list[str] = []
    other = layer.claim(task_id)
    for ending in (
        lambda: zombie.complete(lambda tx: saved.append("zombie")),
        lambda: layer.work.fail(zombie, BROKEN),
        lambda: layer.work.retry(zombie, BROKEN),
        lambda: layer.work.snooze(zombie, None, for_s=0.0),
    ):
        with pytest.raises(LeaseLost):
            ending()
    other.complete(lambda tx: saved.append("other"))
    assert saved == ["other"]
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["retried", "completed"]


def test_a_transient_error_goes_back_with_backoff_until_the_attempts_are_used_up(layer: Layer) -> None:
    task_id = layer.submit()
    for number in (1, 2, 3):
        layer.do("UPDATE tasks SET run_at = clock_timestamp() WHERE state = 'pending'")
        layer.relay.round()
        layer.work.retry(layer.claim(task_id), BROKEN)
        assert layer.task(task_id).attempts == number
    task = layer.task(task_id)
    assert (task.state, task.error and task.error.type) == ("failed", "broken")
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["retried", "retried", "failed"]
    assert layer.attempts(task_id)[0].traceback == "Traceback ..."
    assert layer.metric("tasks_total", kind="join", outcome="retried") == 2
    assert layer.metric("tasks_total", kind="join", outcome="failed") == 1


def test_backoff_is_jittered_within_its_bound(layer: Layer) -> None:
    claims = [layer.claim(task_id, SLOW) for task_id in [layer.submit(SLOW) for _ in range(20)]]
    for claim in claims:
        layer.work.retry(claim, BROKEN)
    waits = layer.column("SELECT extract(epoch FROM run_at - clock_timestamp())::float8 FROM tasks")
    assert 0 <= min(waits) + 1 <= max(waits) < 60
    assert max(waits) - min(waits) > 5


def test_a_remotes_retry_after_is_the_shortest_wait(layer: Layer) -> None:
    task_id = layer.submit()
    layer.work.retry(layer.claim(task_id), BROKEN, at_least_s=100.0)
    [wait_s] = layer.column("SELECT extract(epoch FROM run_at - clock_timestamp())::float8 FROM tasks")
    assert 95 < wait_s <= 100


def test_a_permanent_error_fails_at_once(layer: Layer) -> None:
    task_id = layer.submit()
    layer.work.fail(layer.claim(task_id), BROKEN)
    assert (layer.task(task_id).state, layer.task(task_id).attempts) == ("failed", 1)


def test_a_snooze_gives_the_attempt_back(layer: Layer) -> None:
    task_id = layer.submit()
    layer.work.snooze(layer.claim(task_id), None, for_s=60.0)
    assert (layer.task(task_id).state, layer.task(task_id).attempts) == ("pending", 0)
    layer.relay.round()
    assert layer.task(task_id).state == "pending"


def test_a_heartbeat_extends_leases_but_not_past_the_limit(layer: Layer) -> None:
    task_id = layer.submit()
    layer.claim(task_id)
    layer.do("UPDATE tasks SET lease_until = clock_timestamp() + interval '0.1 s'")
    layer.work.heartbeat()
    assert layer.column("SELECT lease_until > clock_timestamp() + interval '1 s' FROM tasks") == [True]
    layer.do("UPDATE tasks SET lease_limit = clock_timestamp() - interval '1 s'")
    layer.work.heartbeat()
    assert layer.column("SELECT lease_until < clock_timestamp() FROM tasks") == [True]


def test_a_worker_learns_with_its_heartbeat_that_its_task_was_cancelled(layer: Layer) -> None:
    task_id = layer.submit()
    claim = layer.claim(task_id)
    assert layer.dead_letters.cancel(task_id) == "cancelled"
    claim.check()
    layer.work.heartbeat()
    with pytest.raises(LeaseLost):
        claim.complete(nothing)
    assert layer.task(task_id).state == "cancelled"
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["cancelled"]


def test_a_second_submit_joins_the_live_task(layer: Layer) -> None:
    subject = uuid4()
    assert layer.submit(JOIN, subject) == layer.submit(JOIN, subject)
    assert len(layer.column("SELECT id FROM tasks")) == 1


def test_concurrent_submits_of_one_key_give_one_live_task_and_one_further_run(layer: Layer) -> None:
    subject = uuid4()
    ids: list[UUID] = []
    submit = partial(layer.submit, RERUN, subject)
    assert together([lambda: ids.append(submit())] * 50) == []
    assert len(set(ids)) == 1
    claim = layer.claim(ids[0], RERUN)
    assert together([lambda: ids.append(submit())] * 50) == []
    assert len(set(ids)) == 1
    claim.complete(nothing)
    [second] = layer.column("SELECT id FROM tasks WHERE state = 'queued'")
    layer.claim(second, RERUN).complete(nothing)
    assert layer.column("SELECT state FROM tasks") == ["completed", "completed"]


@pytest.mark.parametrize("ending", ["fail", "used up"])
def test_a_rerun_runs_however_the_first_run_ends(layer: Layer, ending: str) -> None:
    subject = uuid4()
    task_id = layer.submit(RERUN, subject)
    claim = layer.claim(task_id, RERUN)
    layer.submit(RERUN, subject)
    layer.do("UPDATE tasks SET attempts = max_attempts")
    layer.work.fail(claim, BROKEN) if ending == "fail" else layer.work.retry(claim, BROKEN)
    assert sorted(layer.column("SELECT state FROM tasks")) == ["failed", "queued"]


@pytest.mark.parametrize(
    "change",
    [
        "state = 'processing'",
        "state = 'queued', queued_at = NULL",
        "state = 'failed', queued_at = NULL, finished_at = now()",
        "state = 'completed', queued_at = NULL",
        "state = 'nonsense'",
        "attempts = 99",
    ],
)
def test_the_database_refuses_states_that_cant_be(layer: Layer, change: str) -> None:
    layer.submit()
    with pytest.raises(IntegrityError):
        layer.do(f"UPDATE tasks SET {change}")


def test_completion_is_published_for_whoever_listens(layer: Layer) -> None:
    pubsub = layer.client.pubsub()
    pubsub.subscribe("task:completed:join", "task:failed:join")
    for _ in range(2):
        assert pubsub.get_message(timeout=2)["type"] == "subscribe"
    good, bad = layer.submit(), layer.submit()
    layer.claim(good).complete(nothing)
    layer.work.fail(layer.claim(bad), BROKEN)
    layer.broker.consume("join").close()  # a consumer's exchange takes it along
    got = [pubsub.get_message(timeout=2) for _ in range(2)]
    assert [(message["channel"], message["data"]) for message in got] == [
        (b"task:completed:join", str(good).encode()),
        (b"task:failed:join", str(bad).encode()),
    ]
    pubsub.close()


def test_any_text_can_be_kept_as_an_errors_detail(layer: Layer) -> None:
    task_id = layer.submit()
    layer.work.fail(layer.claim(task_id), Failure("broken", "nul \0 surrogate \ud800 " + "x" * 9000))
    error = layer.task(task_id).error
    assert error is not None
    assert error.detail.startswith("nul \N{REPLACEMENT CHARACTER} surrogate ")
    assert len(error.detail) < 2_100
    assert clean("short", 10) == "short"


def test_a_thread_past_its_limit_is_interrupted_once(layer: Layer) -> None:
    task_id = layer.submit()
    caught = threading.Event()

    def hang() -> None:
        claim = layer.claim(task_id)
        claim.begun_s -= JOIN.time_limit_s + 2
        try:
            while True:
                threading.Event().wait(0.01)
        except TimeLimitReached:
            caught.set()

    thread = threading.Thread(target=hang)
    thread.start()
    while not caught.wait(0.05):
        layer.work.enforce_limits()
    thread.join()
    assert [claim.limited for claim in layer.work.held()] == [True]


def test_completing_again_with_the_same_token_is_success_and_has_no_second_effect(layer: Layer) -> None:
    task_id = layer.submit()
    claim = layer.claim(task_id)
    saved: list[int] = []
    claim.complete(lambda tx: saved.append(1))
    claim.complete(lambda tx: saved.append(2))
    assert saved == [1]
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["completed"]
