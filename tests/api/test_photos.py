"""The routes of photos, over the real rooms; tasks are done by hand."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from flask import Flask
from PIL import Image

from db.session import Database
from tests.hand import Hand
from tests.http import Answer, Client
from tests.pictures import MAKE, jpeg, png

Auth = Callable[..., dict[str, str]]
Files = Callable[[], list[str]]


def upload(client: Client, key: dict[str, str], data: bytes | None = None) -> dict[str, Any]:
    """Upload raw bytes; returns the photo."""
    answer = client.post("/v1/photos", data=data or jpeg(), headers=key)
    assert answer.status == 202, answer.body
    photo: dict[str, Any] = answer.json
    return photo


def test_a_new_photo_is_answered_202_with_its_place(client: Client, key: dict[str, str]) -> None:
    answer = client.post("/v1/photos", data=jpeg(), headers=key)
    assert answer.status == 202
    assert answer.headers["Location"] == f"/v1/photos/{answer.json['id']}"
    assert client.get(answer.headers["Location"], headers=key).json == answer.json


def test_a_new_photo_is_being_processed_by_two_tasks(client: Client, key: dict[str, str]) -> None:
    photo = upload(client, key)
    assert photo["state"] == "processing"
    assert {task["kind"]: (task["state"], task["attempts"], task["error"]) for task in photo["tasks"]} == {
        "preview": ("queued", 0, None),
        "exif": ("pending", 0, None),  # for the previews' to take along
    }
    assert (photo["previews"], photo["exif"], photo["ready_at"], photo["width"]) == ([], None, None, None)


def test_the_same_file_again_is_answered_200_with_the_same_id(
    client: Client, key: dict[str, str], database: Database, stored_files: Files
) -> None:
    first = upload(client, key)
    files = stored_files()
    again = client.post("/v1/photos", data=jpeg(), headers=key)
    assert (again.status, again.json["id"]) == (200, first["id"])
    assert again.headers["Location"] == f"/v1/photos/{first['id']}"
    assert stored_files() == files
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM tasks").scalar_one() == 2


def test_the_same_file_from_many_clients_at_once_is_one_photo(
    app: Flask, key: dict[str, str], stored_files: Files
) -> None:
    def post(_: int) -> Answer:
        return Client(app).post("/v1/photos", data=jpeg(), headers=key)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, range(8)))
    assert sorted(answer.status for answer in answers) == [200] * 7 + [202]
    assert len({answer.json["id"] for answer in answers}) == 1
    assert len(stored_files()) == 1


def test_the_same_file_of_two_owners_is_two_photos(client: Client, auth: Auth) -> None:
    assert upload(client, auth("anna"))["id"] != upload(client, auth("bert"))["id"]


@pytest.mark.parametrize("path", ["", "/previews/small", "/exif", "/original"])
def test_another_owners_photo_is_not_there(client: Client, auth: Auth, hand: Hand, path: str) -> None:
    photo = upload(client, auth("anna"))
    hand.finish(photo["id"])
    answer = client.get(f"/v1/photos/{photo['id']}{path}", headers=auth("bert"))
    unknown = client.get(f"/v1/photos/{uuid4()}{path}", headers=auth("bert"))
    assert (answer.status, answer.json["code"]) == (404, "photo-not-found")
    assert (unknown.status, unknown.json["code"]) == (404, "photo-not-found")


def test_an_id_that_is_none_is_404(client: Client, key: dict[str, str]) -> None:
    assert client.get("/v1/photos/1", headers=key).status == 404


def test_a_ready_photo_shows_all_that_was_made(client: Client, key: dict[str, str], hand: Hand) -> None:
    photo = upload(client, key, jpeg(2600, 1300, orientation=6))
    hand.finish(photo["id"])
    photo = client.get(f"/v1/photos/{photo['id']}", headers=key).json
    assert photo["state"] == "ready"
    assert (photo["width"], photo["height"]) == (1300, 2600)
    assert photo["ready_at"] >= photo["created_at"]
    assert photo["exif"]["make"] == MAKE
    assert [preview["size"] for preview in photo["previews"]] == ["small", "medium", "large"]
    assert photo["placeholder"] is None or base64.b64decode(photo["placeholder"])


def test_a_photo_whose_exif_failed_is_failed_and_still_serves_its_previews(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo = upload(client, key)
    hand.previews(photo["id"])
    hand.fail(photo["id"], "exif", error_type="corrupt-image", detail="its metadata is broken")
    path = f"/v1/photos/{photo['id']}"
    photo = client.get(path, headers=key).json
    assert photo["state"] == "failed"
    errors = {task["kind"]: task["error"] for task in photo["tasks"]}
    assert errors == {
        "preview": None,
        "exif": {"type": "corrupt-image", "detail": "its metadata is broken"},
    }
    assert client.get(f"{path}/previews/small", headers=key).status == 200
    gone = client.get(f"{path}/exif", headers=key)
    assert (gone.status, gone.json["code"]) == (404, "not-to-be-had")
    assert "its metadata is broken" in gone.json["detail"]


@pytest.mark.parametrize("part", ["previews/small", "exif"])
def test_what_is_still_being_made_is_answered_202(client: Client, key: dict[str, str], part: str) -> None:
    answer = client.get(f"/v1/photos/{upload(client, key)['id']}/{part}", headers=key)
    assert (answer.status, answer.headers["Retry-After"]) == (202, "1")


def test_an_unknown_preview_size_is_404_at_any_time(client: Client, key: dict[str, str], hand: Hand) -> None:
    photo = upload(client, key)
    path = f"/v1/photos/{photo['id']}/previews/giant"
    assert client.get(path, headers=key).status == 404
    hand.finish(photo["id"])
    answer = client.get(path, headers=key)
    assert answer.status == 404
    assert "small, medium, large" in answer.json["detail"]


def test_a_preview_is_the_picture_its_photo_describes(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo = upload(client, key, png(900, 300))
    hand.finish(photo["id"])
    for preview in client.get(f"/v1/photos/{photo['id']}", headers=key).json["previews"]:
        answer = client.get(preview["url"], headers=key)
        assert answer.headers["Content-Type"] == preview["media_type"]
        assert len(answer.body) == preview["size_bytes"]
        assert Image.open(io.BytesIO(answer.body)).size == (preview["width"], preview["height"])


def test_a_preview_is_cached_for_ever_only_under_its_hash(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo = upload(client, key)
    hand.finish(photo["id"])
    url = client.get(f"/v1/photos/{photo['id']}", headers=key).json["previews"][0]["url"]
    plain, _, version = url.partition("?v=")

    def caching(path: str) -> str:
        return client.get(path, headers=key).headers["Cache-Control"]

    assert "immutable" in caching(url)
    for other in (plain, f"{plain}?v=", f"{plain}?v={version[0]}", f"{plain}?v={'0' * len(version)}"):
        assert caching(other) == "private, no-cache"


def test_a_preview_that_is_known_is_answered_304(client: Client, key: dict[str, str], hand: Hand) -> None:
    photo = upload(client, key)
    hand.finish(photo["id"])
    path = f"/v1/photos/{photo['id']}/previews/small"
    etag = client.get(path, headers=key).headers["ETag"]
    assert not etag.startswith("W/")
    again = client.get(path, headers={**key, "If-None-Match": etag})
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)


def test_the_exif_route_gives_normalised_fields_and_raw_tags(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo = upload(client, key)
    hand.finish(photo["id"])
    answer = client.get(f"/v1/photos/{photo['id']}/exif", headers=key).json
    assert answer["exif"]["make"] == MAKE
    assert answer["raw"]["Image Make"] == MAKE


def test_the_original_comes_back_byte_for_byte(client: Client, key: dict[str, str]) -> None:
    answer = client.get(f"/v1/photos/{upload(client, key)['id']}/original", headers=key)
    assert answer.body == jpeg()
    assert answer.headers["Content-Length"] == str(len(jpeg()))
    assert answer.headers["Content-Type"] == "image/jpeg"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("filename", "plain"),
    [("a.jpg", "a.jpg"), ('a "b";c.jpg', 'a \\"b\\";c.jpg'), ("Fjörd.jpg", "Fjord.jpg"), ("写真", "photo")],
)
def test_an_original_is_offered_under_any_name(
    client: Client, key: dict[str, str], filename: str, plain: str
) -> None:
    named = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename)}"}
    answer = client.post("/v1/photos", data=jpeg(), headers={**key, **named})
    assert answer.json["filename"] == filename
    given = client.get(f"/v1/photos/{answer.json['id']}/original", headers=key)
    value = given.headers["Content-Disposition"]
    assert value.startswith("attachment; filename=")
    assert value.split("filename=")[1].partition("; filename*")[0].strip('"') == plain
    value.encode("latin-1")  # a header can hold no more


def test_an_original_whose_file_is_gone_is_an_error_and_not_half_an_answer(
    client: Client, key: dict[str, str], database: Database, store: Any
) -> None:
    photo = upload(client, key)
    with database.transaction() as tx:
        store.delete(tx.execute("SELECT original_key FROM photos").scalar_one())
    answer = client.get(f"/v1/photos/{photo['id']}/original", headers=key)
    assert (answer.status, answer.json["code"]) == (500, "object-missing")
