"""Deleting a photo while it is whole, in hand, or failed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from db.session import Database
from db.transaction import Transaction
from imaging.results import PREVIEW_SIZES, Preview, Rendering
from tasks.errors import LeaseLost
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
Files = Callable[[], list[str]]


def upload(client: Client, headers: dict[str, str]) -> str:
    """A new photo's id."""
    return str(client.post("/v1/photos", data=jpeg(), headers=headers).json["id"])


def rendering() -> Rendering:
    """Three previews that nobody will see."""
    made = tuple(Preview(size.name, 1, 1, "image/jpeg", size.name.encode()) for size in PREVIEW_SIZES)
    return Rendering(1, 1, made, b"", ())


def states(database: Database) -> list[str]:
    """The tasks' states."""
    with database.transaction() as tx:
        return sorted(tx.execute("SELECT state FROM tasks").scalars())


def test_a_deleted_photo_leaves_no_row_and_no_file(
    client: Client, auth: Auth, hand: Hand, stored_files: Files
) -> None:
    headers = auth()
    photo_id = upload(client, headers)
    hand.finish(photo_id)
    assert len(stored_files()) == 3  # medium and large are one
    assert client.ask("DELETE", f"/v1/photos/{photo_id}", headers=headers).status == 204
    assert stored_files() == []
    for path in ("", "/previews/small", "/exif", "/original"):
        assert client.get(f"/v1/photos/{photo_id}{path}", headers=headers).status == 404
    assert client.ask("DELETE", f"/v1/photos/{photo_id}", headers=headers).status == 404


def test_another_owners_photo_cant_be_deleted(client: Client, auth: Auth) -> None:
    headers = auth("anna")
    photo_id = upload(client, headers)
    assert client.ask("DELETE", f"/v1/photos/{photo_id}", headers=auth("ben")).status == 404
    assert client.get(f"/v1/photos/{photo_id}", headers=headers).status == 200


def test_live_tasks_are_cancelled_and_failed_ones_discarded(
    client: Client, auth: Auth, hand: Hand, database: Database
) -> None:
    headers = auth()
    photo_id = upload(client, headers)
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="it broke")
    client.ask("DELETE", f"/v1/photos/{photo_id}", headers=headers)
    assert states(database) == ["cancelled", "discarded"]


def test_a_photo_deleted_while_in_hand_gets_no_previews_and_leaves_no_file(
    client: Client, auth: Auth, hand: Hand, stored_files: Files
) -> None:
    headers = auth()
    photo_id = upload(client, headers)
    rendered = rendering()

    def save(tx: Transaction) -> None:
        raise AssertionError("saved")

    with (  # noqa: PT012 - the blocks are what is tested
        pytest.raises(LeaseLost),
        hand.work.claimed("preview", hand.task(photo_id, "preview")) as claim,
    ):
        client.ask("DELETE", f"/v1/photos/{photo_id}", headers=headers)
        with hand.results.stored_previews(claim.subject, claim.token, rendered):
            assert len(stored_files()) == 3
            claim.complete(save)
    assert stored_files() == []


def test_the_same_file_can_be_uploaded_again_after_its_deletion(client: Client, auth: Auth) -> None:
    headers = auth()
    first = upload(client, headers)
    client.ask("DELETE", f"/v1/photos/{first}", headers=headers)
    answer = client.post("/v1/photos", data=jpeg(), headers=headers)
    assert answer.status == 202
    assert answer.json["id"] != first
