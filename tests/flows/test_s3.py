"""The whole service over S3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from db.migrate import upgrade
from tests import servers
from tests.fixtures import quick_settings
from tests.pictures import MAKE, heic, jpeg
from tests.s3 import Proxy
from tests.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.slow
MIB = 1024 * 1024


@pytest.fixture
def stack(
    server_addresses: servers.Addresses, worker_number: int, bucket: Proxy, tmp_path: Path
) -> Iterator[Stack]:
    """API and worker over S3."""
    url = servers.own_database(server_addresses.postgres_url, f"s3_{bucket.prefix}")
    upgrade(url)
    settings = quick_settings(url, server_addresses.valkey_urls[-1 - worker_number], tmp_path)
    with Stack(replace(settings, storage_url=bucket.url), tmp_path) as stack:
        yield stack


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
    assert "bytes=0-262143" in [asked.range for asked in bucket.asked]


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
