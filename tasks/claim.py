"""A task in hand, as the actor that works on it sees it."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from tasks import records, states
from tasks.ending import Save
from tasks.errors import LeaseLost
from tasks.kinds import Kind

if TYPE_CHECKING:
    from tasks.work import Work


class Claim:
    """A task in hand. Ended by one of `complete`, `poll`, `give_up`, `Work.fail`, `.retry`, `.snooze`.

    Attributes:
        along: the task of the same subject that was taken along; completed with this one, or given back.
    """

    def __init__(self, work: Work, task: records.Claimed, kind: Kind) -> None:
        self._work = work
        self.task = task
        self.kind = kind
        self.along: Claim | None = None
        self.begun_s = time.monotonic()
        self.thread_id = threading.get_ident()
        self.ended = False
        self.limited = False
        self.guard = threading.Lock()
        self.lost = threading.Event()

    @property
    def log_fields(self) -> dict[str, str | None]:
        """What the lines say that are logged while it is in hand."""
        return {
            **self.task.log_fields,
            "attempt": str(self.task.attempts),
            "worker": self._work.worker,
        }

    @property
    def subject(self) -> UUID:
        """What the task is about: a photo's id, say."""
        return self.task.subject

    @property
    def token(self) -> int:
        """The fence: higher than that of any earlier attempt."""
        return self.task.token

    @property
    def left_s(self) -> float:
        """How much of the kind's time limit is left, for whatever can be given a limit of its own."""
        return max(0.0, self.kind.time_limit_s - (time.monotonic() - self.begun_s))

    def check(self) -> None:
        """Call between steps: stops work whose result nobody would keep.

        Raises:
            LeaseLost: the task was cancelled, deleted or given to another worker.
        """
        if self.lost.is_set():
            raise LeaseLost(f"task {self.task.id} is no longer held by this worker")

    def complete(self, save: Save, *, along: Save | None = None) -> None:
        """Store the results and `completed` in one transaction.

        Args:
            save: writes the result rows; it runs with the subject locked.
            along: the same of the task that was taken along; None gives that back.

        Raises:
            LeaseLost: someone else holds the task; nothing was stored.
            DatabaseAway
        """
        self.check()
        self._work.complete(self, save, along)

    def poll(self, save: Save, *, for_s: float) -> None:
        """What the task waits for isn't done yet: store what there is, and look again in `for_s` seconds.

        It goes to the back of the line, and has all its attempts again.

        Raises:
            LeaseLost: someone else holds the task; nothing was stored.
            DatabaseAway
        """
        self.check()
        self._work.end(self, partial(states.poll, for_s=for_s), save=save)

    def give_up(self, failure: records.Failure, save: Save) -> None:
        """Store what there is and `failed` in one transaction.

        Raises:
            LeaseLost: someone else holds the task; nothing was stored.
            DatabaseAway
        """
        self.check()
        self._work.end(self, partial(states.fail, failure=failure), save=save, failure=failure)
