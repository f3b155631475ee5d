"""Whatever happens in whatever order, the invariants hold: a property test against the real database."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from db.session import Database
from tasks.claim import Claim
from tasks.errors import LeaseLost, StaleMessage
from tasks.kinds import Kind
from tasks.records import Failure
from tests.tasks.layer import JOIN, RERUN, Layer

BROKEN = Failure("broken", "it broke")
KINDS = st.sampled_from([JOIN, RERUN])
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

    def __init__(self) -> None:
        super().__init__()
        self.layer.do("TRUNCATE tasks, attempts, events, queues")
        self.layer.client.flushdb()
        self.subjects = [uuid4() for _ in range(2)]
        self.claims: list[Claim] = []
        self.effects: dict[UUID, int] = {}

    @rule(kind=KINDS, subject=st.integers(0, 1))
    def submit(self, kind: Kind, subject: int) -> None:
        self.layer.submit(kind, self.subjects[subject])

    @rule(which=st.integers(0, 3))
    def claim(self, which: int) -> None:
        """Some task's message arrives; it may be a stale one."""
        tasks = self.rows("SELECT id, kind, state FROM tasks ORDER BY created_at DESC")
        if not tasks:
            return
        task = tasks[which % len(tasks)]
        try:
            claim = self.layer.claim(task.id, {"join": JOIN, "rerun": RERUN}[task.kind])
        except StaleMessage:
            paused = self.rows("SELECT FROM queues WHERE name = :kind AND paused", kind=task.kind)
            assert task.state != "queued" or paused
        else:
            assert task.state == "queued"
            self.claims.append(claim)

    @rule(
        which=st.integers(0, 3),
        how=st.sampled_from(["complete", "complete", "fail", "retry", "snooze", "poll"]),
    )
    def end(self, which: int, how: str) -> None:
        """Someone who holds, or held, a task ends it."""
        if not self.claims:
            return
        claim = self.claims.pop(which % len(self.claims))
        [row] = self.rows("SELECT token, state FROM tasks WHERE id = :id", id=claim.task.id)
        holds = (row.token, row.state) == (claim.token, "processing")
        work = self.layer.work
        try:
            if how == "complete":
                claim.complete(lambda tx: None)
                self.effects[claim.task.id] = self.effects.get(claim.task.id, 0) + 1
            elif how == "fail":
                work.fail(claim, BROKEN)
            elif how == "retry":
                work.retry(claim, BROKEN)
            elif how == "poll":
                claim.poll(lambda tx: None, for_s=0.0)
            else:
                work.snooze(claim, None, for_s=0.0)
        except LeaseLost:
            assert not holds
        else:
            assert holds

    @rule()
    def expire_and_relay(self) -> None:
        """A round takes the tasks back, the next one publishes them."""
        self.layer.relay.round()
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

    @rule(which=st.integers(0, 3), action=st.sampled_from(["requeue", "discard", "cancel"]))
    def operate(self, which: int, action: str) -> None:
        tasks = self.rows("SELECT id FROM tasks ORDER BY created_at DESC")
        if tasks:
            getattr(self.layer.dead_letters, action)(tasks[which % len(tasks)].id)

    @rule(kind=KINDS, paused=st.sampled_from([False, False, True]))
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

    def rows(self, statement: str, **parameters: Any) -> list[Any]:
        """Rows of a query."""
        with self.layer.database.transaction() as tx:
            return list(tx.execute(statement, parameters))

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
        max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(type("Machine", (Life,), {"layer": layer}), settings=bounds)
