"""How a task can go wrong, and what that means for it."""

from __future__ import annotations


class TaskError(Exception):
    """Root of what an actor raises on purpose.

    Attributes:
        code: the `error.type` of the API and the metrics; one of a closed set.
    """

    code = "internal-error"


class BacklogFull(Exception):
    """So much waits already that no more is taken in for now."""

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Transient(TaskError):
    """May go well another time: the attempt counts, the task is retried with backoff."""

    def __init__(self, detail: str, *, code: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.retry_after_s = retry_after_s


class Permanent(TaskError):
    """Will never go well: the task is `failed` at once."""

    def __init__(self, detail: str, *, code: str) -> None:
        super().__init__(detail)
        self.code = code


class DependencyAway(TaskError):
    """Something that the task needs can't be reached: it is snoozed, and no attempt is used."""

    code = "dependency-away"

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class StaleMessage(TaskError):
    """The message's task isn't waiting to be run (another has it, or it is done): nothing to do."""

    code = "stale"


class LeaseLost(TaskError):
    """The task was taken back (lease over, cancelled, deleted): what was made is not kept."""

    code = "lease-lost"


class TimeLimitReached(TaskError):
    """Raised into a thread whose task is past its time limit: the attempt counts, it is retried."""

    code = "time-limit"


WORKER_LOST = "worker-lost"
# The codes that a task of any kind can have beside those of its actor.
GENERIC_CODES = (WORKER_LOST, TaskError.code, DependencyAway.code, TimeLimitReached.code)
