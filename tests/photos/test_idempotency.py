"""Idempotency keys under their leases."""

from __future__ import annotations

import pytest

from db.session import Database
from photos.errors import KeyInUse
from photos.idempotency import Reservation
from photos.intake import Intake
from photos.upkeep import Upkeep
from storage.store import Store
from tests.hand import Hand
from tests.pictures import jpeg


def count(database: Database, table: str) -> int:
    """How many rows a table has."""
    with database.transaction() as tx:
        return int(tx.execute(f"SELECT count(*) FROM {table}").scalar_one())


def expire(database: Database) -> None:
    """Let every key's time be over."""
    with database.transaction() as tx:
        tx.execute("UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 ms'")


def test_a_request_that_lost_its_key_to_another_changes_nothing(intake: Intake, database: Database) -> None:
    late = intake.reserve("k", owner="anna")
    expire(database)
    intake.reserve("k", owner="anna")
    upload = intake.upload()
    upload.write(jpeg())
    with pytest.raises(KeyInUse):
        intake.accept(upload, owner="anna", filename=None, reservation=late)
    assert (count(database, "photos"), count(database, "tasks")) == (0, 0)
    late.release()
    assert count(database, "idempotency_keys") == 1  # it is the other's


def test_a_request_whose_body_is_long_keeps_its_key(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photos.idempotency._RENEWED_AFTER_S", 0.0)
    first = Reservation(database, owner="anna", key="k")
    expire(database)
    first.renew()
    with pytest.raises(KeyInUse):
        Reservation(database, owner="anna", key="k")


def test_keys_past_their_time_are_swept(database: Database, store: Store, hand: Hand, intake: Intake) -> None:
    intake.reserve("k", owner="anna")
    upkeep = Upkeep(database, store, hand.submitter, hand.states)
    upkeep.sweep()
    assert count(database, "idempotency_keys") == 1
    expire(database)
    upkeep.sweep()
    assert count(database, "idempotency_keys") == 0
