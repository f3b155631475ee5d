"""What a task's statements take and give: frozen records, never live rows."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tasks.courier import Dispatch


@dataclass(frozen=True)
class Submitted:
    """A task as `submit` left it; `dispatch` is set if its message is to be sent now."""

    id: UUID
    created: bool
    dispatch: Dispatch | None


@dataclass(frozen=True)
class Held:
    """A task in somebody's hand: whoever has its newest token may end the attempt."""

    id: UUID
    kind: str
    subject: UUID
    token: int


@dataclass(frozen=True)
class Claimed(Held):
    """A task just taken into hand, `waited_s` seconds after it was due."""

    attempts: int
    snoozes: int
    waited_s: float


@dataclass(frozen=True)
class Ended:
    """How an attempt ended: `completed`, `failed`, `retried` or `snoozed`.

    `rerun` asks for one more task of the same kind and subject.
    """

    outcome: str
    rerun: bool
    attempts: int


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
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} [...] {text[-half:]}"
