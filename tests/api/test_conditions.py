"""JSON that the client has already isn't sent again."""

from __future__ import annotations

import pytest

from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg


@pytest.mark.parametrize("part", ["", "/exif"])
def test_json_that_the_client_has_is_304_until_it_changes(
    client: Client, key: dict[str, str], hand: Hand, part: str
) -> None:
    photo = client.post("/v1/photos", data=jpeg(), headers=key)
    hand.exif(photo.json["id"])
    path = photo.headers["Location"] + part
    answer = client.get(path, headers=key)
    etag = answer.headers["ETag"]
    assert answer.headers["Cache-Control"] == "private, no-cache"
    for known in (etag, f"W/{etag}", f'"another", {etag}', "*"):
        again = client.get(path, headers={**key, "If-None-Match": known})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)
    assert client.get(path, headers={**key, "If-None-Match": '"another"'}).json == answer.json
    if not part:
        hand.previews(photo.json["id"])
        changed = client.get(path, headers={**key, "If-None-Match": etag})
        assert (changed.status, changed.json["state"]) == (200, "ready")


def test_head_of_json_has_the_tag_of_get(client: Client, key: dict[str, str]) -> None:
    path = client.post("/v1/photos", data=jpeg(), headers=key).headers["Location"]
    head, get = client.ask("HEAD", path, headers=key), client.get(path, headers=key)
    assert (head.headers["ETag"], head.body) == (get.headers["ETag"], b"")


def test_neither_errors_nor_uploads_have_a_tag(client: Client, key: dict[str, str]) -> None:
    for answer in (
        client.post("/v1/photos", data=jpeg(), headers=key),
        client.get("/v1/photos/x", headers=key),
    ):
        assert "ETag" not in answer.headers
