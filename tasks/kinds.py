"""What a kind of task is: where it runs, how often it is tried, how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Kind:
    """One kind of task. Its name is its queue's name and its Dramatiq actor's name.

    Attributes:
        max_attempts: how often a task is begun before it is a dead letter.
        backoff_base_s, backoff_cap_s: exponential backoff with full jitter: before attempt n + 1 a
            random wait between 0 and min(cap, base * 2**(n - 1)).
        time_limit_s: how long one attempt may take.
        second_submit: what submitting does while a task for the same subject is live: `join` shares
            it; `rerun` shares it too, and has it run once more if it is already being processed.
        along_with: the kind whose actor does this one's work as well. Submitted with one of those this one
            waits for it a while (`tasks.states.ALONG_S`), then it runs by itself.
    """

    name: str
    max_attempts: int = 5
    backoff_base_s: float = 2.0
    backoff_cap_s: float = 600.0
    time_limit_s: float = 30.0
    second_submit: Literal["join", "rerun"] = "join"
    along_with: str | None = None
