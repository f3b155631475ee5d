"""The whole task layer over a domain of nothing: subjects are bare ids, and a result is a list entry."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from uuid import UUID, uuid4

from prometheus_client import CollectorRegistry

from db.session import Database
from db.transaction import DatabaseAway, Transaction
from observability.metrics import TaskMetrics
from tasks import views
from tasks.broker import connect, make_broker
from tasks.claim import Claim
from tasks.courier import Courier
from tasks.dead_letters import DeadLetters
from tasks.ending import Endings
from tasks.kinds import Kind
from tasks.queues import Queues
from tasks.relay import Relay
from tasks.submit import Submitter
from tasks.work import Work
from tests.waiting import until

JOIN = Kind("join", max_attempts=3, backoff_base_s=0.0, time_limit_s=5.0)
RERUN = Kind("rerun", max_attempts=3, backoff_base_s=0.0, time_limit_s=5.0, second_submit="rerun")
SLOW = Kind("slow", max_attempts=3, backoff_base_s=60.0)
LEAD = Kind("lead", max_attempts=3, backoff_base_s=0.0, time_limit_s=5.0)
ALONG = Kind("along", max_attempts=3, backoff_base_s=0.0, time_limit_s=5.0, along_with=LEAD.name)
KINDS = {kind.name: kind for kind in (JOIN, RERUN, SLOW, LEAD, ALONG)}
ERROR_TYPES = ("worker-lost", "internal-error", "broken")


class PlainSubjects:
    """Subjects without rows; remembers which were settled."""

    def __init__(self) -> None:
        self.settled: list[UUID] = []

    def lock(self, tx: Transaction, *subjects: UUID) -> None:
        """Two endings of one subject go one after the other, as with a row's lock."""
        for subject in sorted(subjects):
            tx.execute("SELECT pg_advisory_xact_lock(:key)", {"key": subject.int % 2**62})

    def settle(self, tx: Transaction, subject: UUID) -> None:
        """Note it, if the transaction commits."""
        tx.after_commit(lambda: self.settled.append(subject))


class Layer:
    """Every part of `tasks/`, as one worker process has them."""

    def __init__(
        self, database: Database, redis_url: str, *, window: int = 100, lease_s: float = 2.0, name: str = "w1"
    ) -> None:
        self.database = database
        self.registry = CollectorRegistry()
        metrics = TaskMetrics(self.registry, kinds=KINDS, error_types=ERROR_TYPES)
        self.client = connect(redis_url)
        self.broker = make_broker(self.client)
        self.courier = Courier(self.broker)
        self.submitter = Submitter(self.courier, KINDS, window=window)
        self.subjects = PlainSubjects()
        endings = Endings(database, self.courier, self.submitter, self.subjects, metrics)
        self.work = Work(database, endings, KINDS, metrics, worker=name, lease_s=lease_s)
        self.relay = Relay(
            database,
            self.courier,
            endings,
            KINDS.values(),
            metrics,
            window=window,
            lease_s=lease_s,
            scan_s=0.0,
            retention_s=3600.0,
        )
        self.dead_letters = DeadLetters(database, self.subjects)
        self.queues = Queues(database, KINDS)

    def submit(self, kind: Kind = JOIN, subject: UUID | None = None) -> UUID:
        """Submit and commit; the message is sent."""
        with self.database.transaction() as tx:
            return self.submitter.submit(tx, kind.name, subject or uuid4())

    def claim(self, task_id: UUID, kind: Kind = JOIN) -> Claim:
        """Take a task into hand, and keep it there."""
        context = self.work.claimed(kind.name, str(task_id))
        claim = copy_context().run(context.__enter__)  # what its lines say isn't what the test's say
        self._open = [*getattr(self, "_open", []), context]  # a collected generator would end the block
        return claim

    def task(self, task_id: UUID) -> views.TaskView:
        """The task as it is in the database."""
        with self.database.transaction() as tx:
            task = views.get(tx, task_id)
        assert task is not None
        return task

    def attempts(self, task_id: UUID) -> list[views.AttemptView]:
        """Its attempts."""
        with self.database.transaction() as tx:
            return views.attempts(tx, task_id)

    def events(self, task_id: UUID) -> list[str]:
        """Types of its events, in order."""
        return self.column("SELECT type FROM events WHERE task_id = :id ORDER BY id", id=task_id)

    def column(self, statement: str, **parameters: Any) -> list[Any]:
        """The first column of a query."""
        with self.database.transaction() as tx:
            return list(tx.execute(statement, parameters).scalars())

    def do(self, statement: str, **parameters: Any) -> None:
        """Change rows behind the layer's back: time that passes, mostly."""
        with self.database.transaction() as tx:
            tx.execute(statement, parameters)

    def expire(self, task_id: UUID) -> None:
        """Let the task's lease have run out a second ago."""
        self.do(
            "UPDATE tasks SET lease_until = clock_timestamp() - interval '1 second' WHERE id = :id",
            id=task_id,
        )

    def rescue(self, task_id: UUID) -> None:
        """Expire the task's lease and have the relay take it back (not before PostgreSQL is a lease old)."""
        self.expire(task_id)
        until(lambda: self.relay.round() is None or self.task(task_id).state != "processing")
        self.relay.round()

    def messages(self, kind: Kind = JOIN) -> set[UUID]:
        """Tasks with a message in Redis that nobody has fetched."""
        return self.courier.ready(kind.name)

    def metric(self, name: str, **labels: str) -> float:
        """A sample of this process' registry."""
        return self.registry.get_sample_value(f"safelight_{name}", labels) or 0.0


class LosesAnswers(Database):
    """A database whose next commits succeed, and whose answers to them are lost."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lose = 0

    @contextmanager
    def statement(self, *, lock_timeout_s: float | None = None) -> Iterator[Transaction]:
        with super().statement(lock_timeout_s=lock_timeout_s) as tx:
            yield tx
        self._lose()

    @contextmanager
    def transaction(self, *, lock_timeout_s: float | None = None) -> Iterator[Transaction]:
        with super().transaction(lock_timeout_s=lock_timeout_s) as tx:
            yield tx
        self._lose()

    def _lose(self) -> None:
        if self.lose:
            self.lose -= 1
            raise DatabaseAway("the connection broke while the commit was under way")


def together(functions: Iterable[Any]) -> list[BaseException]:
    """Run functions at the same time; returns what they raised."""
    raised: list[BaseException] = []
    functions = list(functions)
    barrier = threading.Barrier(len(functions))

    def run(function: Any) -> None:
        barrier.wait()
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised
