"""Given a photo, when it is uploaded, then everything that is made of it can be fetched."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from PIL import Image

from tests.http import ask, multipart
from tests.pictures import MAKE, heic, huge_png, jpeg, png
from tests.stack import Stack


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


@pytest.mark.parametrize(
    ("make", "media_type"), [(jpeg, "image/jpeg"), (png, "image/png"), (heic, "image/heic")]
)
def test_a_photo_becomes_ready_with_three_previews_and_exif(
    stack: Stack, key: dict[str, str], make: Callable[..., bytes], media_type: str
) -> None:
    photo = stack.wait_ready(stack.upload(make(2600, 1300), key), key)

    assert (photo["width"], photo["height"], photo["media_type"]) == (2600, 1300, media_type)
    assert photo["exif"]["make"] == MAKE
    assert [(made["size"], made["width"], made["height"]) for made in photo["previews"]] == [
        ("small", 320, 160),
        ("medium", 1280, 640),
        ("large", 2048, 1024),
    ]
    for made in photo["previews"]:
        answer = stack.get(made["url"], key)
        assert answer.status == 200
        assert len(answer.body) == made["size_bytes"]
        assert Image.open(io.BytesIO(answer.body)).size == (made["width"], made["height"])


def test_metadata_is_read_along_with_the_previews(stack: Stack, key: dict[str, str]) -> None:
    photo = stack.wait_ready(stack.upload(jpeg(seed=77), key), key)
    rows = stack.query("SELECT kind, attempts, dispatch FROM tasks WHERE subject = :id", id=photo["id"])
    assert {row.kind: (row.attempts, row.dispatch) for row in rows} == {
        "preview": (1, 1),
        "exif": (1, 0),  # no message was ever sent of it
    }


def test_metadata_is_read_though_there_is_nothing_to_show(stack: Stack, key: dict[str, str]) -> None:
    whole = jpeg(1600, 1200, seed=78)
    photo = stack.wait_done(stack.upload(whole[: len(whole) // 20], key), key)
    tasks = {task["kind"]: task["state"] for task in photo["tasks"]}
    assert (photo["state"], tasks) == ("failed", {"preview": "failed", "exif": "completed"})
    assert photo["exif"]["make"] == MAKE


def test_photos_are_listed_with_what_was_made_of_them(stack: Stack, key: dict[str, str]) -> None:
    ids = [stack.wait_ready(stack.upload(jpeg(64, 64, seed=n), key), key)["id"] for n in range(3)]
    listed = stack.get("/v1/photos?state=ready", key).json["photos"]
    assert [photo["id"] for photo in listed] == ids[::-1]
    assert all(len(photo["previews"]) == 3 for photo in listed)


def test_the_same_file_again_is_the_same_photo_and_no_new_task(stack: Stack, key: dict[str, str]) -> None:
    photo = stack.wait_ready(stack.upload(jpeg(seed=5), key), key)
    again = stack.ask("POST", "/v1/photos", body=jpeg(seed=5), headers=key)
    assert (again.status, again.json["id"], again.json["state"]) == (200, photo["id"], "ready")
    rows = stack.query("SELECT count(*) AS n FROM tasks WHERE subject = :id", id=photo["id"])
    assert rows[0].n == 2


@pytest.mark.parametrize("photos", [24, pytest.param(100, marks=pytest.mark.slow)])
def test_many_photos_from_eight_clients_at_once_are_all_ready(
    stack: Stack, key: dict[str, str], photos: int
) -> None:
    with ThreadPoolExecutor(8) as clients:
        uploaded = list(clients.map(lambda n: stack.upload(jpeg(320, 240, seed=n), key), range(photos)))
        done = list(clients.map(lambda photo: stack.wait_ready(photo, key, timeout_s=30), uploaded))
    assert len({photo["id"] for photo in done}) == photos
    for photo in done:
        assert len(photo["previews"]) == 3
        assert photo["exif"]["make"] == MAKE
        assert [task["attempts"] for task in photo["tasks"]] == [1, 1]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"A text file, and no picture.\n" * 200, "not-an-image"),
        (b"", "empty-upload"),
        (jpeg(2000, 1500)[:500], "truncated-image"),
        (huge_png(), "too-many-pixels"),
    ],
    ids=["a text file", "nothing", "a JPEG cut in its first tenth", "50,000 x 50,000 pixels"],
)
@pytest.mark.parametrize("way", ["raw", "multipart"])
def test_what_cannot_be_a_photo_is_refused_or_fails_at_the_first_attempt(
    stack: Stack, key: dict[str, str], data: bytes, code: str, way: str
) -> None:
    headers = {**key, "Content-Type": "image/jpeg"}
    if way == "multipart":
        data, headers["Content-Type"] = multipart(("file", "a.jpg", data))
    answer = stack.ask("POST", "/v1/photos", body=data, headers=headers)
    if answer.status >= 400:
        assert answer.status < 500
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json["code"] == code
        return
    photo = stack.wait_done(answer.json, key)
    assert photo["state"] == "failed"
    (task,) = [task for task in photo["tasks"] if task["kind"] == "preview"]
    assert (task["state"], task["attempts"], task["error"]["type"]) == ("failed", 1, code)
    preview = stack.get(f"/v1/photos/{photo['id']}/previews/small", key)
    assert (preview.status, preview.json["code"]) == (404, "not-to-be-had")


def test_another_owners_photo_is_not_there(stack: Stack, key: dict[str, str]) -> None:
    photo = stack.wait_ready(stack.upload(jpeg(seed=6), key), key)
    other = stack.key(uuid4().hex)
    for path in (f"/v1/photos/{photo['id']}", photo["previews"][0]["url"]):
        assert stack.get(path, other).status == 404
        assert stack.get(path, key).status == 200


def test_a_photos_journey_shows_in_the_metrics(stack: Stack, key: dict[str, str]) -> None:
    stack.wait_ready(stack.upload(jpeg(seed=7), key), key)
    port = stack.settings.monitoring_port
    pipeline = ask(port, "GET", "/metrics").body.decode()
    assert "safelight_workers_alive 1.0" in pipeline
    assert 'safelight_dependency_up{dependency="redis"} 1.0' in pipeline

    targets = ask(port, "GET", "/internal/targets").json
    assert sorted(target["labels"]["role"] for target in targets) == ["api", "api", "worker"]
    processes = [ask(int(target["targets"][0].rpartition(":")[2]), "GET", "/metrics") for target in targets]
    text = "".join(process.body.decode() for process in processes)
    assert re.search(
        r'^safelight_tasks_total\{kind="preview",outcome="completed"\} [1-9]', text, re.MULTILINE
    )
    assert re.search(r"^safelight_photo_ready_seconds_count [1-9]", text, re.MULTILINE)
    assert re.search(r"^safelight_upload_bytes_total [1-9]", text, re.MULTILINE)


def test_the_public_port_shows_no_metrics(stack: Stack, key: dict[str, str]) -> None:
    forged = {**key, "Host": f"127.0.0.1:{stack.settings.monitoring_port}"}
    for path in ("/metrics", "/internal/targets"):
        assert stack.ask("GET", path, headers=forged).status == 404
