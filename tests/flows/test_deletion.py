"""Photos that are deleted while their tasks run: the tasks are cancelled, no file stays behind."""

from __future__ import annotations

from uuid import uuid4

import pytest

from embedded import processes
from tests.flows.load import files
from tests.pictures import jpeg
from tests.stack import Stack

PHOTOS = 5


STATES = "SELECT DISTINCT state FROM tasks WHERE subject = ANY(CAST(:ids AS uuid[]))"
BEGUN = "SELECT FROM tasks WHERE subject = :id AND kind = 'preview' AND started_at IS NOT NULL"


@pytest.mark.parametrize("when", ["queued", "processing"])
def test_a_photo_deleted_while_its_tasks_run_leaves_nothing_behind(stack: Stack, when: str) -> None:
    key = stack.key(uuid4().hex)
    before = files(stack)
    ids: list[str] = []
    # 12 megapixels take their time; all are there before the first is sent, since to make them takes as long
    for picture in [jpeg(4000, 3000, seed=number + len(when) * 1_000) for number in range(PHOTOS)]:
        ids.append(stack.upload(picture, key)["id"])
        if when == "processing":
            assert processes.settles(lambda: bool(stack.query(BEGUN, id=ids[-1])), timeout_s=20)
            assert stack.ask("DELETE", f"/v1/photos/{ids[-1]}", headers=key).status == 204
    for identity in reversed(ids) if when == "queued" else ():
        assert stack.ask("DELETE", f"/v1/photos/{identity}", headers=key).status == 204

    ended = {"cancelled", "completed"}
    assert {row.state for row in stack.query(STATES, ids=ids)} <= ended
    assert processes.settles(lambda: files(stack) <= before, timeout_s=20), files(stack) - before
    assert all(stack.get(f"/v1/photos/{identity}", key).status == 404 for identity in ids)
    states = {row.state for row in stack.query(STATES, ids=ids)}
    assert "cancelled" in states
    assert states <= ended
