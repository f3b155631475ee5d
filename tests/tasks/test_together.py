"""What several threads ask for at once is done in one go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from db.session import Database
from db.transaction import DatabaseAway, Transaction
from observability.logs import context, logging_with
from tasks.errors import LeaseLost, StaleMessage
from tasks.records import Wanted
from tasks.together import Together
from tests.tasks.layer import Layer, together
from tests.waiting import until


class Doubling:
    """Doubles numbers, when it may; remembers which came together."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.may = threading.Event()
        self.may.set()

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append(list(numbers))
        assert self.may.wait(10)
        if -1 in numbers:
            raise LookupError("not that")
        return [2 * number for number in numbers]


def threads(functions: Sequence[Callable[[], object]]) -> list[threading.Thread]:
    """Start one for each."""
    started = [threading.Thread(target=function) for function in functions]
    for thread in started:
        thread.start()
    return started


def gathered(double: Together[Any, Any], count: int) -> bool:
    """Whether so many wait behind the one that is at it."""
    return len(double._gathered) == count


def test_one_alone_is_answered_alone() -> None:
    doubling = Doubling()
    double = Together(doubling)
    assert [double(1), double(2)] == [2, 4]
    assert doubling.groups == [[1], [2]]


def test_those_that_come_while_one_is_at_it_are_answered_together() -> None:
    doubling = Doubling()
    double = Together(doubling)
    answers: list[tuple[int, int]] = []

    def ask(number: int) -> None:
        answers.append((number, double(number)))

    doubling.may.clear()
    first = threads([partial(ask, 0)])
    until(lambda: doubling.groups == [[0]])
    others = threads([partial(ask, n) for n in range(1, 6)])
    until(lambda: gathered(double, 5))
    doubling.may.set()
    for thread in first + others:
        thread.join(10)
    assert sorted(answers) == [(n, 2 * n) for n in range(6)]
    assert [sorted(group) for group in doubling.groups] == [[0], [1, 2, 3, 4, 5]]


def test_an_error_is_everyones_in_the_group_and_the_next_group_goes_on() -> None:
    doubling = Doubling()
    double = Together(doubling)
    doubling.may.clear()
    first = threads([lambda: double(0)])
    until(lambda: doubling.groups == [[0]])
    raised: list[BaseException] = []
    others = threads([lambda: raised.extend(together([lambda: double(-1), lambda: double(1)]))])
    until(lambda: gathered(double, 2))
    doubling.may.set()
    for thread in first + others:
        thread.join(10)
    assert [type(error) for error in raised] == [LookupError, LookupError]
    assert double(3) == 6


def test_under_a_crowd_each_gets_the_answer_to_its_own_question() -> None:
    double = Together(Doubling())
    wrong: list[int] = []

    def ask(start: int) -> None:
        for number in range(start, start + 300):
            if double(number) != 2 * number:
                wrong.append(number)

    assert together([partial(ask, start) for start in range(0, 8000, 1000)]) == []
    assert wrong == []


def held_up(layer: Layer) -> Callable[[], None]:
    """Have a completion take its time, so that others gather; returns how to let it go on."""
    claim = layer.claim(layer.submit())
    begun, may = threading.Event(), threading.Event()

    def save(tx: Transaction) -> None:
        begun.set()
        assert may.wait(10)

    waiting = threads([partial(claim.complete, save)])[0]
    assert begun.wait(10)

    def let_go() -> None:
        may.set()
        waiting.join(10)

    return let_go


def test_completions_that_come_together_share_a_transaction(layer: Layer) -> None:
    ids = [layer.submit() for _ in range(3)]
    claims = [layer.claim(task_id) for task_id in ids]
    transactions: list[int] = []

    def save(tx: Transaction) -> None:
        transactions.append(tx.execute("SELECT pg_current_xact_id()::text").scalar_one())

    let_go = held_up(layer)
    crowd = threads([partial(claim.complete, save) for claim in claims])
    until(lambda: gathered(layer.work._endings._completions, 3))
    let_go()
    for thread in crowd:
        thread.join(10)
    assert len(transactions) == 3
    assert len(set(transactions)) == 1
    assert {layer.task(task_id).state for task_id in ids} == {"completed"}
    assert len(layer.subjects.settled) == 4
    assert layer.metric("tasks_total", kind="join", outcome="completed") == 4


def test_who_can_not_be_completed_holds_nobody_else_up(layer: Layer) -> None:
    ids = [layer.submit() for _ in range(4)]
    good, lost, broken, cancelled = [layer.claim(task_id) for task_id in ids]
    layer.rescue(lost.task.id)
    layer.dead_letters.cancel(cancelled.task.id)
    saved: list[str] = []

    def fail(tx: Transaction) -> None:
        raise KeyError

    let_go = held_up(layer)
    raised: list[BaseException] = []
    crowd = threads(
        [
            lambda: raised.extend(
                together(
                    [
                        lambda: good.complete(lambda tx: saved.append("good")),
                        lambda: lost.complete(lambda tx: saved.append("lost")),
                        lambda: broken.complete(fail),
                        lambda: cancelled.complete(lambda tx: saved.append("cancelled")),
                    ]
                )
            )
        ]
    )
    until(lambda: gathered(layer.work._endings._completions, 4))
    let_go()
    for thread in crowd:
        thread.join(10)
    assert {type(error) for error in raised} == {LeaseLost, KeyError}
    assert len(raised) == 3
    assert set(saved) == {"good"}
    assert [layer.task(task_id).state for task_id in ids] == [
        "completed",
        layer.task(lost.task.id).state,
        "processing",
        "cancelled",
    ]


def test_claims_that_come_together_are_one_statement_and_each_gets_its_own(layer: Layer) -> None:
    ids = [layer.submit() for _ in range(8)]
    got: list[tuple[UUID, UUID]] = []

    def take(task_id: UUID) -> None:
        got.append((task_id, layer.claim(task_id).task.id))

    assert together([partial(take, task_id) for task_id in ids]) == []
    assert sorted(got) == sorted(zip(ids, ids, strict=True))
    assert {layer.task(task_id).attempts for task_id in ids} == {1}


def test_of_two_that_ask_together_for_the_same_task_one_gets_it(layer: Layer) -> None:
    wanted = [Wanted(task_id, None, 5.0) for task_id in [layer.submit()] * 2 + [layer.submit()]]
    first, second, other = layer.work._claim_all(wanted)
    assert bool(first) != bool(second)
    assert other
    assert layer.task(wanted[0].id).attempts == 1


def test_a_task_that_someone_has_locked_holds_up_no_other_claim(database: Database, layer: Layer) -> None:
    locked, free = layer.submit(), layer.submit()
    with database.transaction() as tx:
        tx.execute("SELECT FROM tasks WHERE id = :id FOR UPDATE", {"id": locked})
        claimed = layer.work._claim_all([Wanted(task_id, None, 5.0) for task_id in (locked, free)])
    assert [[task.id for task in taken] for taken in claimed] == [[], [free]]
    assert layer.claim(locked).task.id == locked
    with pytest.raises(StaleMessage):
        layer.claim(free)


def test_who_hangs_with_a_task_locked_holds_a_claim_of_it_up_not_for_long(
    database: Database, layer: Layer
) -> None:
    locked = layer.submit()
    with database.transaction() as tx:
        tx.execute("SELECT FROM tasks WHERE id = :id FOR UPDATE", {"id": locked})
        begun_s = time.monotonic()
        with pytest.raises(DatabaseAway):
            layer.work._claim_all([Wanted(locked, None, 5.0)])
        assert time.monotonic() - begun_s < 3  # PostgreSQL's own limit is 5 s


def test_who_hangs_with_a_subject_locked_holds_up_no_other_completion(
    database: Database, layer: Layer
) -> None:
    stuck, free = [layer.claim(layer.submit()) for _ in range(2)]
    let_go = held_up(layer)
    with database.transaction() as tx:
        layer.subjects.lock(tx, stuck.subject)
        crowd = threads([partial(claim.complete, lambda tx: None) for claim in (stuck, free)])
        until(lambda: gathered(layer.work._endings._completions, 2))
        let_go()
        until(lambda: layer.task(free.task.id).state == "completed", timeout_s=4)
        assert layer.task(stuck.task.id).state == "processing"
    for thread in crowd:
        thread.join(10)
    assert layer.task(stuck.task.id).state == "completed"


def test_what_one_does_after_its_commit_holds_up_no_other(layer: Layer) -> None:
    slow, other = [layer.claim(layer.submit()) for _ in range(2)]
    begun, may = threading.Event(), threading.Event()
    seen: list[object] = []

    def wait() -> None:
        seen.append(context().get("task_id"))
        begun.set()
        assert may.wait(10)

    def complete() -> None:
        with logging_with(task_id="slow"):
            slow.complete(lambda tx: tx.after_commit(wait))

    waiting = threads([complete])[0]
    assert begun.wait(10)
    other.complete(lambda tx: None)
    assert layer.task(other.task.id).state == "completed"
    may.set()
    waiting.join(10)
    assert seen == ["slow"]
