"""The task layer, over real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from db.session import Database
from tests.tasks.layer import Layer, LosesAnswers


@pytest.fixture
def layer(database: Database, redis_url: str) -> Layer:
    """The task layer as one worker process has it; nothing runs by itself."""
    return Layer(database, redis_url)


@pytest.fixture
def unsure(database: Database, migrated_url: str) -> Iterator[LosesAnswers]:
    """A database whose answers can be lost, and loses none yet; its tables are empty."""
    unsure = LosesAnswers(migrated_url)
    yield unsure
    unsure.close()
