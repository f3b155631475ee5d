"""Without prepared statements, as behind a pooler that shares connections, all goes the same way."""

from __future__ import annotations

from collections.abc import Callable

from tests.pictures import jpeg
from tests.stack import Stack


def test_a_photo_becomes_ready_another_fails_and_one_is_there_already(
    own_stack: Callable[..., Stack],
) -> None:
    stack = own_stack(prepared_statements="off")
    key = stack.key("anna")
    photo = stack.wait_ready(stack.upload(jpeg(600, 400), key), key)
    assert [made["size"] for made in photo["previews"]] == ["small", "medium", "large"]
    assert photo["exif"]["make"]
    again = stack.ask("POST", "/v1/photos", body=jpeg(600, 400), headers=key)
    assert (again.status, again.json["id"]) == (200, photo["id"])
    broken = stack.wait_done(stack.upload(jpeg(600, 400)[:300], key), key)
    assert broken["state"] == "failed"
    executed = (
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'EXECUTE%'"
    )
    assert stack.query(executed) == []
