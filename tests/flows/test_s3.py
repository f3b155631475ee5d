"""The whole service over S3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pictures import MAKE, heic, jpeg
from tests.s3 import Proxy
from tests.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.slow
MIB = 1024 * 1024


@pytest.fixture
def stack(own_stack: Callable[..., Stack], bucket: Proxy) -> Stack:
    """API and worker over S3."""
    return own_stack(storage_url=bucket.url)


def test_photos_become_ready_come_back_and_leave_nothing_when_deleted(stack: Stack, bucket: Proxy) -> None:
    key = stack.key("anna")
    for data in (jpeg(2600, 1300), heic(2600, 1300)):
        photo = stack.wait_ready(stack.upload(data, key), key)
        assert photo["exif"]["make"] == MAKE
        for preview in photo["previews"]:
            assert len(stack.get(preview["url"], key).body) == preview["size_bytes"]
        assert stack.get(f"/v1/photos/{photo['id']}/original", key).body == data
        assert stack.ask("DELETE", f"/v1/photos/{photo['id']}", headers=key).status == 204
    assert bucket.files() == []


def test_a_large_original_comes_in_and_goes_out_without_being_held_in_memory(
    stack: Stack, bucket: Proxy
) -> None:
    key = stack.key("anna")
    before = {pid: _peak_bytes(pid) for pid in stack.pids("api")}
    data = jpeg(640, 480) + bytes(200 * MIB)  # decoders stop at the picture's end, the store doesn't
    photo = stack.upload(data, key)
    assert stack.get(f"/v1/photos/{photo['id']}/original", key).body == data
    assert all(_peak_bytes(pid) - before[pid] < 64 * MIB for pid in before)
    assert stack.wait_ready(photo, key)["exif"]["make"] == MAKE
    # alone, without previews to make, no more is fetched than is read
    headers = {**key, "Content-Type": "application/json"}
    again = stack.ask(
        "POST", f"/v1/photos/{photo['id']}/reprocess", body=b'{"kinds": ["exif"]}', headers=headers
    )
    assert again.status == 202
    until(lambda: "bytes=0-262143" in [asked.range for asked in bucket.asked], timeout_s=30)


def test_tasks_wait_while_the_store_is_away_and_no_attempt_is_used(stack: Stack, bucket: Proxy) -> None:
    key = stack.key("anna")
    _pause(stack, "true")
    photo = stack.upload(jpeg(), key)
    bucket.fail("slow-down")
    _pause(stack, "false")
    snoozed = "SELECT FROM tasks WHERE kind = 'preview' AND snoozes > 0 AND attempts = 0"
    until(lambda: bool(stack.query(snoozed)), timeout_s=40)
    bucket.mend()
    done = stack.wait_ready(photo, key, timeout_s=30)
    assert [task["attempts"] for task in done["tasks"]] == [1, 1]


def _pause(stack: Stack, paused: str) -> None:
    headers = {**stack.key("operator", "admin"), "Content-Type": "application/json"}
    body = f'{{"paused": {paused}}}'.encode()
    assert stack.ask("PATCH", "/v1/queues/preview", body=body, headers=headers).status == 200


def _peak_bytes(pid: int) -> int:
    """The most memory that a process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
