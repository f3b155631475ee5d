"""The photo domain without HTTP."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from config import Settings
from db.session import Database
from observability.metrics import PhotoMetrics
from photos.intake import Intake
from photos.views import Views
from storage.store import Store
from tests.hand import Hand


@pytest.fixture
def photo_registry() -> CollectorRegistry:
    """What `intake` measures."""
    return CollectorRegistry()


@pytest.fixture
def intake(
    database: Database, store: Store, hand: Hand, settings: Settings, photo_registry: CollectorRegistry
) -> Intake:
    """Takes photos in."""
    metrics = PhotoMetrics(photo_registry)
    return Intake(database, store, hand.submitter, metrics, max_bytes=settings.max_upload_bytes)


@pytest.fixture
def views(database: Database, store: Store) -> Views:
    """Reads photos."""
    return Views(database, store)
