"""Previews by a link to the store: only previews, only for those who may see them, and not for long."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from app import create_app
from config import Settings
from db.session import Database
from tests.api.test_sign_in import cookie, sign_in
from tests.fixtures import MakeKey
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg
from tests.s3 import Proxy

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def settings(settings: Settings, bucket: Proxy) -> Settings:
    """Everything in S3, and previews by its links."""
    return replace(settings, storage_url=bucket.url, preview_redirect="on")


@pytest.fixture
def photo(client: Client, auth: Auth, hand: Hand) -> dict[str, str]:
    """A photo of anna's, with previews."""
    photo: dict[str, str] = client.post("/v1/photos", data=jpeg(), headers=auth("anna")).json
    hand.finish(photo["id"])
    return photo


def test_who_asks_for_a_preview_is_sent_to_the_store_for_five_minutes(
    client: Client, auth: Auth, photo: dict[str, str]
) -> None:
    answer = client.get(f"/v1/photos/{photo['id']}/previews/small", headers=auth("anna"))
    assert (answer.status, answer.headers["Cache-Control"]) == (302, "no-store")
    link = answer.headers["Location"]
    assert parse_qs(urlsplit(link).query)["X-Amz-Expires"] == ["300"]
    with urllib.request.urlopen(link) as stored:
        assert stored.headers["Content-Type"] == "image/jpeg"
        assert stored.read().startswith(b"\xff\xd8")


def test_a_page_of_ours_is_sent_nowhere(client: Client, make_key: MakeKey, photo: dict[str, str]) -> None:
    session = cookie(sign_in(client, make_key("anna")))  # its CSP allows pictures of its own origin alone
    answer = client.get(f"/v1/photos/{photo['id']}/previews/small", headers=session)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/jpeg")


def test_who_has_the_preview_already_is_sent_nowhere(
    client: Client, auth: Auth, photo: dict[str, str]
) -> None:
    path, key = f"/v1/photos/{photo['id']}/previews/small", auth("anna")
    etag = client.ask("HEAD", path, headers=key).headers["ETag"]
    answer = client.get(path, headers={**key, "If-None-Match": etag})
    assert (answer.status, "Location" in answer.headers) == (304, False)


def test_another_owner_gets_no_link(client: Client, auth: Auth, photo: dict[str, str]) -> None:
    answer = client.get(f"/v1/photos/{photo['id']}/previews/small", headers=auth("bert"))
    assert (answer.status, answer.json["code"]) == (404, "photo-not-found")


@pytest.mark.parametrize("size", ["huge", "original", ".."])
def test_there_is_no_link_to_anything_else(
    client: Client, auth: Auth, photo: dict[str, str], size: str
) -> None:
    assert client.get(f"/v1/photos/{photo['id']}/previews/{size}", headers=auth("anna")).status == 404


def test_a_preview_that_is_being_made_has_no_link_yet(client: Client, auth: Auth) -> None:
    photo = client.post("/v1/photos", data=jpeg(), headers=auth("anna")).json
    answer = client.get(f"/v1/photos/{photo['id']}/previews/small", headers=auth("anna"))
    assert (answer.status, answer.headers["Retry-After"]) == (202, "1")


def test_originals_and_their_ranges_come_through_the_api(
    client: Client, auth: Auth, photo: dict[str, str], bucket: Proxy
) -> None:
    key = auth("anna")
    assert client.get(f"/v1/photos/{photo['id']}/original", headers=key).body == jpeg()
    bucket.asked.clear()
    part = client.get(f"/v1/photos/{photo['id']}/original", headers={**key, "Range": "bytes=10-19"})
    assert (part.status, part.body) == (206, jpeg()[10:20])
    assert [asked.range for asked in bucket.asked if asked.method == "GET"] == ["bytes=10-19"]


@pytest.fixture
def through_the_api(settings: Settings, database: Database) -> Iterator[Flask]:
    """The same without links."""
    app = create_app(replace(settings, preview_redirect="off"))
    yield app
    app.extensions["safelight.hub"].stop()


def test_without_the_setting_previews_come_through_the_api(
    through_the_api: Flask, auth: Auth, photo: dict[str, str]
) -> None:
    answer = Client(through_the_api).get(f"/v1/photos/{photo['id']}/previews/small", headers=auth("anna"))
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/jpeg")


@pytest.mark.parametrize("kind", ["away", "cut", "slow-down"])
def test_an_upload_while_the_store_is_away_is_503_and_leaves_nothing(
    client: Client, auth: Auth, bucket: Proxy, kind: str
) -> None:
    bucket.fail(kind)
    answer = client.post("/v1/photos", data=jpeg(), headers=auth("anna"))
    assert (answer.status, answer.json["code"], answer.headers["Retry-After"]) == (503, "store-away", "5")
    assert client.get("/readyz").json["dependencies"]["storage"] is False
    bucket.mend()
    assert client.get("/readyz").status == 200
    assert bucket.files() == []
    assert client.get("/v1/photos", headers=auth("anna")).json["photos"] == []
