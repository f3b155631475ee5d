"""Whatever happens in whatever order, the invariants hold: a property test against the real database."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from db.session import Database
from tasks.errors import LeaseLost, StaleMessage
from tasks.kinds import Kind
from tasks.states import Failure
from tasks.work import Claim
from tests.tasks.layer import JOIN, RERUN, Layer

BROKEN = Failure("broken", "it broke")
LIVE = ("pending", "queued", "processing")
HISTORIES_FIT = """
SELECT count(*) FROM tasks LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE outcome = 'completed') AS completed,
           count(*) FILTER (WHERE outcome IS NULL) AS open
    FROM attempts WHERE task_id = tasks.id) AS history ON true
WHERE history.completed <> (state = 'completed')::int OR history.open <> (state = 'processing')::int
"""


class Life(RuleBasedStateMachine):
    """Several workers, operators and submitters on a few subjects."""

    layer: Layer
    tasks = Bundle("tasks")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.layer.do("TRUNCATE tasks, attempts, events, queues")
        self.layer.client.flushdb()
        self.subjects = [uuid4() for _ in range(3)]
        self.effects: dict[UUID, int] = {}

    @rule(target=tasks, kind=st.sampled_from([JOIN, RERUN]), subject=st.integers(0, 2))
    def submit(self, kind: Kind, subject: int) -> tuple[Kind, UUID]:
        return kind, self.layer.submit(kind, self.subjects[subject])

    @rule(target=claims, task=tasks)
    def claim(self, task: tuple[Kind, UUID]) -> Any:
        state = self.layer.task(task[1]).state
        try:
            claim = self.layer.claim(task[1], task[0])
        except StaleMessage:
            assert state != "queued" or self.layer.column("SELECT bool_or(paused) FROM queues") == [True]
            return multiple()
        assert state == "queued"
        return claim

    @rule(claim=consumes(claims), how=st.sampled_from(["complete", "fail", "retry", "snooze"]))
    def end(self, claim: Claim, how: str) -> None:
        [holds] = self.layer.column(
            "SELECT token = :token AND state = 'processing' FROM tasks WHERE id = :id",
            id=claim.task.id,
            token=claim.token,
        )
        work = self.layer.work
        try:
            if how == "complete":
                claim.complete(lambda tx: None)
                self.effects[claim.task.id] = self.effects.get(claim.task.id, 0) + 1
            elif how == "fail":
                work.fail(claim, BROKEN)
            elif how == "retry":
                work.retry(claim, BROKEN)
            else:
                work.snooze(claim, None, for_s=0.0)
        except LeaseLost:
            assert not holds or claim.lost.is_set()
        else:
            assert holds

    @rule()
    def expire_and_relay(self) -> None:
        self.layer.do("UPDATE tasks SET lease_until = clock_timestamp() WHERE state = 'processing'")
        self.layer.relay.round()

    @rule()
    def time_passes(self) -> None:
        self.layer.do("UPDATE tasks SET run_at = clock_timestamp() WHERE state = 'pending'")
        self.layer.relay.round()

    @rule()
    def redis_is_emptied(self) -> None:
        self.layer.client.flushdb()

    @rule()
    def heartbeat(self) -> None:
        self.layer.work.heartbeat()

    @rule(task=tasks, action=st.sampled_from(["requeue", "discard", "cancel"]))
    def operate(self, task: tuple[Kind, UUID], action: str) -> None:
        getattr(self.layer.dead_letters, action)(task[1])

    @rule(kind=st.sampled_from([JOIN, RERUN]), paused=st.booleans())
    def switch(self, kind: Kind, paused: bool) -> None:
        self.layer.queues.set_paused(kind.name, paused)

    @invariant()
    def one_live_task_a_purpose(self) -> None:
        twins = (
            "SELECT count(*) FROM tasks WHERE state = ANY(:live) GROUP BY kind, subject HAVING count(*) > 1"
        )
        assert self.layer.column(twins, live=list(LIVE)) == []

    @invariant()
    def histories_fit_their_states(self) -> None:
        assert self.layer.column(HISTORIES_FIT) == [0]

    @invariant()
    def nothing_took_effect_twice(self) -> None:
        assert all(count == 1 for count in self.effects.values())

    def teardown(self) -> None:
        """Everything still live can be brought to its end: nothing is stuck."""
        for kind in (JOIN, RERUN):
            self.layer.queues.set_paused(kind.name, False)
        self.expire_and_relay()
        for _ in range(20):
            self.layer.client.flushdb()
            self.time_passes()
            rows = self.layer.column("SELECT id || ' ' || kind FROM tasks WHERE state = 'queued'")
            if not rows:
                break
            for task_id, kind in (row.split() for row in rows):
                self.layer.claim(UUID(task_id), {"join": JOIN, "rerun": RERUN}[kind]).complete(
                    lambda tx: None
                )
        assert self.layer.column("SELECT count(*) FROM tasks WHERE state = ANY(:live)", live=list(LIVE)) == [
            0
        ]


@pytest.mark.timeout(300)
def test_the_invariants_hold_whatever_happens(database: Database, redis_url: str) -> None:
    layer = Layer(database, redis_url, lease_s=0.0)
    bounds = settings(
        max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(type("Machine", (Life,), {"layer": layer}), settings=bounds)
