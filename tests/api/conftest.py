"""The routes over the real rooms, in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def key(auth: Callable[..., dict[str, str]]) -> dict[str, str]:
    """Headers of Anna's key."""
    return auth("anna")
