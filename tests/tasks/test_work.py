"""Working on tasks while the database isn't dependable."""

from __future__ import annotations

from db.session import Database
from tasks.errors import StaleMessage
from tests.tasks.layer import JOIN, Layer, LosesAnswers, together
from tests.waiting import until


def test_a_claim_whose_answer_was_lost_is_gone_on_with_and_counts_once(
    unsure: LosesAnswers, redis_url: str
) -> None:
    layer = Layer(unsure, redis_url)
    task_id = layer.submit()
    unsure.lose = 1
    layer.claim(task_id).complete(lambda tx: None)
    assert (layer.task(task_id).state, layer.task(task_id).attempts) == ("completed", 1)
    assert [attempt.outcome for attempt in layer.attempts(task_id)] == ["completed"]


def test_a_completion_whose_answer_was_lost_takes_effect_once(unsure: LosesAnswers, redis_url: str) -> None:
    layer = Layer(unsure, redis_url)
    task_id = layer.submit()
    claim = layer.claim(task_id)
    saved: list[int] = []
    unsure.lose = 1
    claim.complete(lambda tx: saved.append(1))
    assert (layer.task(task_id).state, saved) == ("completed", [1])


def test_tasks_published_while_redis_was_away_are_sent_when_it_is_back(
    database: Database, redis_url: str
) -> None:
    away = Layer(database, "unix:///nowhere/valkey.sock?db=0")
    task_id = away.submit()
    away.do("UPDATE tasks SET state = 'pending', queued_at = NULL")
    away.relay.round()
    back = Layer(database, redis_url)
    assert (back.task(task_id).state, back.messages()) == ("queued", set())
    until(lambda: back.relay.round() is None or back.messages() == {task_id})
    back.claim(task_id, JOIN).complete(lambda tx: None)
    assert back.task(task_id).state == "completed"


def test_a_claim_whose_answer_was_lost_goes_to_one_of_two_that_have_a_message_of_it(
    unsure: LosesAnswers, redis_url: str
) -> None:
    layer = Layer(unsure, redis_url)
    task_id = layer.submit()
    unsure.lose = 2
    got: list[int] = []
    raised = together([lambda: got.append(layer.claim(task_id).token)] * 2)
    assert (got, [type(error) for error in raised]) == ([1], [StaleMessage])
