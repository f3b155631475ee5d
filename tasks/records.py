"""What a task's statements take and give: frozen records, never live rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from observability.logs import cut
from tasks.courier import Dispatch


@dataclass(frozen=True)
class Submitted:
    """A task as `submit` left it; `dispatch` is set if its message is to be sent now."""

    id: UUID
    created: bool
    dispatch: Dispatch | None


@dataclass(frozen=True)
class Wanted:
    """A task that a message asks for.

    Attributes:
        dispatch: of that message. One from before the task was published last is stale: it would run the
            task ahead of its turn.
        limit_s: how long at most it can be held.
        along: a kind whose task for the same subject is to be taken with it, if nobody had that in hand yet.
    """

    id: UUID
    dispatch: int | None
    limit_s: float
    along: str | None = None


@dataclass(frozen=True)
class Held:
    """A task in somebody's hand: whoever has its newest token may end the attempt."""

    id: UUID
    kind: str
    subject: UUID
    token: int
    trace_id: str | None

    @property
    def claim(self) -> tuple[UUID, int]:
        """What an attempt's end must name: the task, and the token that holds it."""
        return self.id, self.token

    @property
    def log_fields(self) -> dict[str, str | None]:
        """What every log line about it says; its subject goes by the name that all rooms log it by."""
        return {
            "trace_id": self.trace_id,
            "photo_id": str(self.subject),
            "task_id": str(self.id),
            "kind": self.kind,
        }


@dataclass(frozen=True)
class Claimed(Held):
    """A task just taken into hand, `waited_s` seconds after it was due.

    Attributes:
        polls: attempts that ended with "not yet" since it was submitted or requeued.
        begun_at: when the first attempt since then began, `age_s` seconds before this one.
    """

    attempts: int
    snoozes: int
    polls: int
    begun_at: datetime
    waited_s: float
    age_s: float


@dataclass(frozen=True)
class Ended:
    """How an attempt ended: `completed`, `failed`, `retried` or `snoozed`.

    `rerun` asks for one more task of the same kind and subject; one that is to run again is due `again_in_s`
    seconds from its end.
    """

    outcome: str
    rerun: bool
    attempts: int
    again_in_s: float | None = None

    def log(self, logger: logging.Logger, failure: Failure | None, **seconds: float) -> None:
        """Log the one line about an attempt that is over: how it ended, why, and what comes next."""
        fields: dict[str, object] = {name: round(value, 4) for name, value in seconds.items()}
        if failure is not None:
            fields |= {"error_type": failure.error_type, "error": failure.detail}
        if self.again_in_s is not None:
            fields["again_in_s"] = round(self.again_in_s, 3)
        level = logging.WARNING if self.outcome in ("failed", "retried") else logging.INFO
        logger.log(level, "task %s", self.outcome, extra=fields)


@dataclass(frozen=True)
class Failure:
    """What went wrong in one attempt, as it is kept; long texts are cut."""

    error_type: str
    detail: str
    traceback: str | None = None

    def parameters(self) -> dict[str, str | None]:
        return {
            "error_type": self.error_type,
            "error_detail": clean(self.detail, 2_000),
            "traceback": clean(self.traceback, 20_000) if self.traceback else None,
        }


def clean(text: str, limit: int) -> str:
    """Make any text one that PostgreSQL stores: no NUL, no lone surrogate, cut in its middle."""
    text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return cut(text, limit)
