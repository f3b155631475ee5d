"""The relay: the one mechanism that makes due tasks run, whatever made them due or lost them."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from db.session import Database
from db.transaction import DatabaseAway, Transaction
from observability.logs import logging_with
from observability.metrics import TaskMetrics
from tasks import pacing, records, states
from tasks.courier import Courier, Dispatch, RedisAway
from tasks.ending import Endings
from tasks.errors import WORKER_LOST, LeaseLost
from tasks.kinds import Kind

logger = logging.getLogger(__name__)

# Any constant number does, as long as every process of the service uses the same one.
_LEADER_LOCK = 7_311_202
# A leader that hangs loses the lead: PostgreSQL ends its statement, or its idle transaction.
_STATEMENT_TIMEOUT_MS = 4_000
_IDLE_TIMEOUT_MS = 2_000
_PRUNE_LIMIT = 1_000
# A round that had so much of a window to fill is followed by another soon: the usual next one might find the
# window empty, and workers idle.
_MUCH = 0.1
_SOON_S = 0.2
# A round that took so long met a database that stood still, and heartbeats stood still with it.
_SLOW_S = 2.0


class Relay:
    """Publishes due tasks, rescues those of dead workers, sends lost messages again.

    It runs in every worker process; PostgreSQL's lock lets one of them work in each round.

    Args:
        window: how many tasks of a queue may be `queued` at once.
        lease_s: a lease's length; nothing is rescued for so long after a round that failed, since
            heartbeats may have failed as well.
        scan_s: how long a task may be `queued` before its message is looked for.
        retention_s: how long tasks that need nobody any more are kept.

    Attributes:
        led_at: when this process last led a round, by PostgreSQL's clock.
    """

    def __init__(
        self,
        database: Database,
        courier: Courier,
        endings: Endings,
        kinds: Iterable[Kind],
        metrics: TaskMetrics,
        *,
        window: int,
        lease_s: float,
        scan_s: float,
        retention_s: float,
    ) -> None:
        self._database = database
        self._courier = courier
        self._endings = endings
        self._kinds = {kind.name: kind for kind in kinds}
        self._metrics = metrics
        self._window = window
        self._lease_s = lease_s
        self._scan_s = scan_s
        self._retention_s = retention_s
        self._scan_at_s = 0.0
        self._rescue_from_s = 0.0
        self.led_at: datetime | None = None

    def round(self) -> float:
        """Do what is due now, if no other process is doing it.

        Returns:
            In how many seconds at most another is needed: no queue shall run empty while tasks are due.

        Raises:
            DatabaseAway
        """
        try:
            return self._round()
        except Exception:
            self._rescue_from_s = time.monotonic() + self._lease_s
            raise

    def _round(self) -> float:
        dispatches: list[Dispatch] = []
        begun_s = time.monotonic()
        with self._database.transaction() as tx:
            if (now := lead(tx)) is None:
                return math.inf
            self.led_at = now
            paces = pacing.paces(tx)
            for kind in self._kinds.values():
                dispatches += self._publish(tx, kind, paces.get(kind.name))
            published = len(dispatches)
            if scan := self._scan_at_s <= time.monotonic():
                dispatches += self._lost(tx)
        self._send(dispatches)
        if scan:
            self._scan_at_s = time.monotonic() + self._scan_s
            self._tidy()
        if time.monotonic() - begun_s > _SLOW_S:
            self._rescue_from_s = time.monotonic() + self._lease_s
        if self._rescue_from_s <= time.monotonic():
            self._rescue()
        return _SOON_S if published >= self._window * _MUCH else math.inf

    def _publish(self, tx: Transaction, kind: Kind, pace: pacing.Pace | None) -> list[Dispatch]:
        at_most = None if pace is None else pace.room
        published = states.publish(tx, kind, window=self._window, at_most=at_most)
        if pace is not None:
            pacing.spend(tx, pace, len(published))
        tx.after_commit(partial(self._metrics.published, kind.name, len(published)))
        return published

    def _lost(self, tx: Transaction) -> list[Dispatch]:
        """Tasks that have been `queued` for long and whose message isn't waiting in Redis."""
        found: list[Dispatch] = []
        for kind in self._kinds.values():
            suspects = states.queued_long(tx, kind, after_s=self._scan_s)
            if not suspects:
                continue
            try:
                ready = self._courier.ready(kind.name)
            except RedisAway:
                break
            again = states.resend(tx, kind, [task_id for task_id in suspects if task_id not in ready])
            tx.after_commit(partial(self._metrics.recovered, kind.name, "message-lost", len(again)))
            if again:
                logger.info("%d lost messages are sent again", len(again), extra={"kind": kind.name})
            found += again
        return found

    def _send(self, dispatches: list[Dispatch]) -> None:
        if not dispatches:
            return
        try:
            self._courier.send(dispatches)
            logger.info("%d tasks published", len(dispatches))
        except RedisAway as error:
            logger.warning("%d messages not sent, a later scan will: %s", len(dispatches), error)

    def _tidy(self) -> None:
        """Take paused queues' tasks out of Redis' reach, and delete what is past its retention."""
        with self._database.transaction() as tx:
            for kind in self._kinds.values():
                states.unpublish(tx, kind)
            pruned = states.prune(tx, retention_s=self._retention_s, limit=_PRUNE_LIMIT)
        if pruned:
            logger.info("%d tasks deleted, past their retention", pruned)

    def _rescue(self) -> None:
        """Take back tasks whose lease ran out: the attempt counts, so the fifth death is the last."""
        with self._database.transaction() as tx:
            expired = states.expired(tx, self._kinds, lease_s=self._lease_s)
        for task in expired:
            with logging_with(**task.log_fields):
                try:
                    self._take_back(task)
                except LeaseLost:
                    continue  # its worker was only late
                except DatabaseAway as error:  # someone who hangs holds its rows: the others shall not wait
                    logger.warning("not taken back yet: %s", error)

    def _take_back(self, task: records.Held) -> None:
        failure = records.Failure(WORKER_LOST, "the worker died, or hung past its lease")
        again = partial(states.retry, failure=failure, kind=self._kinds[task.kind], expired=True)
        ended = self._endings.end(task, again, failure=failure)
        self._metrics.recovered(task.kind, "lease-expired", 1)
        ended.log(logger, failure)


def lead(tx: Transaction) -> datetime | None:
    """The time, if this process does this round; bounds how long it can hold that up."""
    tx.execute(f"SET LOCAL statement_timeout = {_STATEMENT_TIMEOUT_MS}")
    tx.execute(f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_TIMEOUT_MS}")
    won = "SELECT CASE WHEN pg_try_advisory_xact_lock(:id) THEN clock_timestamp() END"
    now: datetime | None = tx.execute(won, {"id": _LEADER_LOCK}).scalar_one()
    return now
