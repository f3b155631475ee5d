"""The task layer, over real servers."""

from __future__ import annotations

import pytest

from db.session import Database
from tests.tasks.layer import Layer


@pytest.fixture
def layer(database: Database, redis_url: str) -> Layer:
    """The task layer as one worker process has it; nothing runs by itself."""
    return Layer(database, redis_url)
