"""Several files in one form: a result for each, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from api.batch import MAX_FILES
from config import Settings
from db.session import Database
from storage.errors import StoreAway
from tests.http import Answer, Client, multipart
from tests.pictures import jpeg, png

Part = tuple[str, str | None, bytes]
Files = Callable[[], list[str]]
Post = Callable[..., Answer]
GOOD: Part = ("file", "a.jpg", jpeg())
TEXT: Part = ("file", "notes.txt", b"no picture at all")


@pytest.fixture
def post(client: Client, key: dict[str, str]) -> Post:
    """Uploads a form of several files: `post(*parts)`."""

    def send(*parts: Part, headers: dict[str, str] | None = None) -> Answer:
        body, content_type = multipart(*parts)
        given = {**key, "Content-Type": content_type, **(headers or {})}
        return client.post("/v1/photos/batch", data=body, headers=given)

    return send


def told(answer: Answer) -> list[tuple[Any, ...]]:
    """(status, file name, size or code) of each file."""
    assert answer.status == 207, answer.body
    return [
        (
            each["status"],
            each["filename"],
            (each.get("photo") or {}).get("size_bytes") or each["problem"]["code"],
        )
        for each in answer.json["results"]
    ]


def test_each_file_is_told_of_in_order_and_a_bad_one_spoils_no_other(
    post: Post, client: Client, key: dict[str, str], stored_files: Files
) -> None:
    empty: Part = ("file", "empty.jpg", b"")
    other: Part = ("album", None, b"summer")
    answer = post(GOOD, TEXT, other, ("file", "b.png", png()), empty, GOOD, ("file", None, jpeg(seed=7)))
    assert told(answer) == [
        (202, "a.jpg", len(jpeg())),
        (415, "notes.txt", "not-an-image"),
        (202, "b.png", len(png())),
        (400, "empty.jpg", "empty-upload"),
        (200, "a.jpg", len(jpeg())),
        (202, None, len(jpeg(seed=7))),
    ]
    results = answer.json["results"]
    assert results[0]["photo"]["id"] == results[4]["photo"]["id"]
    assert results[1]["problem"]["status"] == 415
    assert len(stored_files()) == 3
    listed = client.get("/v1/photos", headers=key).json["photos"]
    assert {photo["id"] for photo in listed} == {each["photo"]["id"] for each in results if each.get("photo")}


def test_a_hundred_files_are_taken_and_one_more_part_than_allowed_is_told(post: Post) -> None:
    pictures = [("file", f"{number}.jpg", jpeg(8, 8, seed=number)) for number in range(MAX_FILES)]
    assert [status for status, *_ in told(post(*pictures))] == [202] * MAX_FILES
    others = [("field", None, b"x")] * 51
    answer = post(*pictures, *others)
    assert (answer.status, answer.json["code"]) == (400, "malformed-multipart")


@pytest.mark.parametrize(
    ("parts", "code"), [([], "file-expected"), ([("photo", "a.jpg", jpeg())], "file-expected")]
)
def test_a_form_without_a_file_is_refused(post: Post, parts: list[Part], code: str) -> None:
    answer = post(*parts)
    assert (answer.status, answer.json["code"]) == (400, code)


def test_what_is_no_form_is_refused(client: Client, key: dict[str, str], stored_files: Files) -> None:
    answer = client.post("/v1/photos/batch", data=jpeg(), headers={**key, "Content-Type": "image/jpeg"})
    assert (answer.status, answer.json["code"]) == (415, "multipart-expected")
    assert stored_files() == []


def test_a_form_that_breaks_off_keeps_the_files_that_came_whole_and_no_half(
    client: Client, key: dict[str, str], stored_files: Files
) -> None:
    body, content_type = multipart(GOOD, ("file", "b.jpg", jpeg(seed=1)))
    answer = client.post("/v1/photos/batch", data=body[:-200], headers={**key, "Content-Type": content_type})
    assert (answer.status, answer.json["code"]) == (400, "malformed-multipart")
    [photo] = client.get("/v1/photos", headers=key).json["photos"]
    assert photo["filename"] == "a.jpg"
    assert len(stored_files()) == 1
    again = client.post("/v1/photos/batch", data=body, headers={**key, "Content-Type": content_type})
    assert [status for status, *_ in told(again)] == [200, 202]


def test_a_digest_of_a_part_is_checked_and_one_of_the_whole_is_refused(
    client: Client, key: dict[str, str], post: Post, stored_files: Files
) -> None:
    digest = {"Repr-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"}
    body, content_type = multipart(GOOD, headers=digest)
    answer = client.post("/v1/photos/batch", data=body, headers={**key, "Content-Type": content_type})
    assert told(answer) == [(400, "a.jpg", "digest-mismatch")]
    answer = post(GOOD, headers=digest)
    assert (answer.status, answer.json["code"]) == (400, "digest-of-part-expected")
    assert stored_files() == []


def test_a_store_that_is_away_is_told_of_each_file(
    post: Post, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    def full(*_: object) -> None:
        raise StoreAway("no room left")

    monkeypatch.setattr("storage.writer.Writer.close", full)
    assert told(post(GOOD, TEXT)) == [(503, "a.jpg", "store-away"), (415, "notes.txt", "not-an-image")]
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM photos").scalar_one() == 0


class TestLimits:
    """A file's limit is its own result; the form's ends the form."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """The usual settings with small limits."""
        return replace(settings, max_upload_bytes=50_000, max_batch_bytes=200_000)

    def test_a_file_over_its_limit_spoils_no_other(self, post: Post, stored_files: Files) -> None:
        large = ("file", "large.jpg", jpeg().ljust(50_001, b"\0"))
        assert [status for status, *_ in told(post(large, GOOD))] == [413, 202]
        assert len(stored_files()) == 1

    def test_a_form_over_its_limit_is_refused_before_it_is_read(
        self, post: Post, stored_files: Files
    ) -> None:
        answer = post(GOOD, ("note", None, b"x" * (2 * 1024 * 1024)))
        assert (answer.status, answer.json["code"]) == (413, "upload-too-large")
        assert stored_files() == []
