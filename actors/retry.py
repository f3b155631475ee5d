"""The retry middleware: what an exception means for the task it came out of.

It stands in place of Dramatiq's own, which keeps a retry's state in the message and counts no death.
"""

from __future__ import annotations

import logging
import random
import traceback
from typing import Any

from dramatiq import Actor, Broker, Middleware
from dramatiq.broker import MessageProxy

from db.transaction import DatabaseAway
from imaging.errors import ImagingError
from observability.logs import logging_with
from photos.errors import NotMadeYet, NotToBeHad, PhotoNotFound
from photos.kinds import NO_PREVIEW
from remote.errors import BreakerOpen, RemoteError, RemoteTrouble
from storage.errors import ObjectMissing, StoreAway
from tasks.claim import Claim
from tasks.errors import DependencyAway, LeaseLost, Permanent, StaleMessage, TaskError, Transient
from tasks.records import Failure
from tasks.work import Work

logger = logging.getLogger(__name__)

_SNOOZE_BASE_S = 2.0
_SNOOZE_CAP_S = 30.0


class RetryTasks(Middleware):
    """Ends the attempt of an actor that raised: retried, failed or snoozed. Messages are always acked."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def before_declare_actor(self, broker: Broker, actor: Actor[Any, Any]) -> None:
        """Have Dramatiq log no exception: what came out of an actor is told here, and without its text.

        A traceback may quote the photo's own data. The attempt has it, for whoever may see the photo.
        """
        actor.options["throws"] = (BaseException,)

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Called in the actor's thread."""
        self._work.received(message.message_id)

    def after_process_message(
        self,
        broker: Broker,
        message: MessageProxy,
        *,
        result: Any = None,
        exception: BaseException | None = None,
    ) -> None:
        """Called in the actor's thread, whatever came out of it."""
        if exception is None:
            return
        claim = self._work.in_hand()
        if claim is None:
            level = logging.DEBUG if isinstance(exception, _EXPECTED) else logging.ERROR
            logger.log(level, "no task came of a message: %s", exception, extra={"where": _where(exception)})
            return
        with logging_with(**claim.log_fields):
            if not isinstance(exception, _EXPECTED):
                name = type(exception).__name__
                logger.error("a bug: %s; the attempt has it whole", name, extra={"where": _where(exception)})
            self._end(claim, as_task_error(exception), exception)

    def _end(self, claim: Claim, error: TaskError, exception: BaseException) -> None:
        trace = "".join(traceback.format_exception(exception))
        failure = Failure(error.code, str(error) or type(exception).__name__, trace)
        try:
            if isinstance(error, DependencyAway):
                for_s = max(error.retry_after_s or 0.0, _snooze_s(claim.task.snoozes))
                self._work.snooze(claim, failure, for_s=for_s)
            elif isinstance(error, Permanent):
                self._work.fail(claim, failure)
            elif isinstance(error, Transient):
                self._work.retry(claim, failure, at_least_s=error.retry_after_s or 0.0)
            elif not isinstance(error, LeaseLost):
                self._work.retry(claim, failure)
        except LeaseLost:
            logger.info("the task is someone else's by now")
        except DatabaseAway as away:
            logger.warning("can't be written down, its lease will run out: %s", away)
        finally:
            self._work.forget(claim)


def _where(exception: BaseException) -> str:
    """The line that raised it."""
    frames = traceback.extract_tb(exception.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _snooze_s(snoozes: int) -> float:
    """Exponential backoff with jitter; never near 0, since the dependency is known to be away."""
    longest_s = min(_SNOOZE_CAP_S, _SNOOZE_BASE_S * 2.0 ** min(snoozes, 10))
    return longest_s * random.uniform(0.5, 1.0)  # noqa: S311


def as_task_error(exception: BaseException) -> TaskError:
    """What an exception means for a task; an unknown one is a bug that another attempt may not meet."""
    match exception:
        case TaskError():
            return exception
        case ImagingError(transient=True):
            return Transient(str(exception), code=exception.code)
        case ImagingError():
            return Permanent(str(exception), code=exception.code)
        case ObjectMissing():
            return Permanent("the original isn't in the store", code="object-missing")
        case DatabaseAway() | StoreAway():
            return DependencyAway(str(exception))
        case BreakerOpen():
            return DependencyAway(str(exception), retry_after_s=exception.for_s)
        case RemoteTrouble():
            return Transient(str(exception), code=exception.code, retry_after_s=exception.retry_after_s)
        case RemoteError():
            return Permanent(str(exception), code=exception.code)
        case NotMadeYet():
            return DependencyAway(str(exception))
        case NotToBeHad():
            return Permanent(str(exception), code=NO_PREVIEW)
        case PhotoNotFound():
            return LeaseLost("the photo was deleted")
        case _:
            detail = f"something went wrong here ({type(exception).__name__}); the attempt has the traceback"
            return Transient(detail, code=TaskError.code)


# All else is a bug.
_EXPECTED = (
    StaleMessage,
    ImagingError,
    RemoteError,
    TaskError,
    DatabaseAway,
    StoreAway,
    ObjectMissing,
    NotMadeYet,
    NotToBeHad,
    PhotoNotFound,
)
