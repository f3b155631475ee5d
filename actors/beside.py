"""What runs beside the actors in each worker process: heartbeat, relay, presence; and how it all ends."""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
from collections.abc import Callable
from typing import cast

import dramatiq.worker
from dramatiq import Broker, Middleware, Worker

from db.transaction import DatabaseAway
from imaging.sandbox import Sandbox
from observability import logs
from observability.periodic import Periodic
from observability.presence import Presence
from tasks import broker as tasks_broker
from tasks.errors import LeaseLost
from tasks.relay import Relay
from tasks.work import Work

logger = logging.getLogger(__name__)

_LIMITS_S = 0.5
_SWEEP_S = 600.0
_RECONNECT_S = 1.0
_PR_SET_PDEATHSIG = 1


class Beside(Middleware):
    """Starts and stops a worker process' background threads, in the order that loses nothing."""

    def __init__(
        self,
        work: Work,
        relay: Relay,
        presence: Presence,
        sandbox: Sandbox,
        *,
        heartbeat_s: float,
        relay_s: float,
        log_format: str,
        sweep: Callable[[], object],
    ) -> None:
        self._log_format = log_format
        self._work = work
        self._presence = presence
        self._sandbox = sandbox
        self._heartbeat = Periodic("heartbeat", work.heartbeat, interval_s=heartbeat_s)
        self._limits = Periodic("limits", work.enforce_limits, interval_s=_LIMITS_S)
        self._sweep = Periodic("sweep", sweep, interval_s=_SWEEP_S)
        self._relay = Periodic("relay", relay.round, interval_s=relay_s)

    def after_process_boot(self, broker: Broker) -> None:
        """Only the `dramatiq` command's worker processes come here."""
        logs.configure(self._log_format)
        logging.getLogger("dramatiq").setLevel(logging.WARNING)
        for queue in broker.get_declared_queues():
            logging.getLogger(f"dramatiq.worker.ConsumerThread({queue})").addFilter(_is_news)
        _die_with_parent()
        # Dramatiq's own 3 s can be set only by an environment variable, read before we are imported.
        dramatiq.worker.CONSUMER_RESTART_DELAY_SECS = _RECONNECT_S

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """The actors' threads run: start what keeps their tasks, and what wakes them."""
        self._heartbeat.start()
        self._limits.start()
        self._relay.start()
        self._sweep.start()
        self._presence.start()
        cast(tasks_broker.Broker, broker).listen()
        logger.info("worker ready")

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Publish no more; tasks in hand go on, with their heartbeat."""
        self._work.stop()
        self._relay.stop()
        cast(tasks_broker.Broker, broker).hush()

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """What isn't finished within the grace time is given back at once, with its attempt."""
        for claim in self._work.held():
            with logs.logging_with(**claim.log_fields):
                try:
                    self._work.snooze(claim, None, for_s=0.0)
                except (DatabaseAway, LeaseLost) as error:
                    logger.warning("not given back: %s", error)
        self._heartbeat.stop()
        self._limits.stop()
        self._presence.stop()
        self._sandbox.close()


def _is_news(record: logging.LogRecord) -> bool:
    """Drop what each consumer says of a lost connection each second: `tasks.broker` tells it once."""
    return record.msg != "Consumer encountered a connection error: %s"


def _die_with_parent() -> None:
    """Have Linux end this process when Dramatiq's master is killed; else it would go on as an orphan."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
