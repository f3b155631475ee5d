"""Waiting for a condition, where a test would otherwise sleep."""

from __future__ import annotations

from collections.abc import Callable

from embedded import processes


def until(condition: Callable[[], bool], *, timeout_s: float = 15.0) -> None:
    """Wait until the condition holds; fail if it doesn't come."""
    assert processes.settles(condition, timeout_s=timeout_s), "the condition didn't come"
