"""`/v1/me` and `/v1/keys`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from api.keys import Keys
from db.session import Database
from tests.http import Client

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def admin(auth: Auth) -> dict[str, str]:
    """Headers with an admin's key."""
    return auth("root", "admin")


def bearer(text: str) -> dict[str, str]:
    """Headers with a key."""
    return {"Authorization": f"Bearer {text}"}


def test_a_key_is_told_whose_it_is(client: Client, database: Database) -> None:
    text = Keys(database).create("anna", ["photos:read"], expires=timedelta(days=1))
    answer = client.get("/v1/me", headers=bearer(text))
    expires_at = datetime.fromisoformat(answer.json.pop("expires_at"))
    assert timedelta(hours=23) < expires_at - datetime.now(UTC) <= timedelta(days=1)
    told = {name: answer.json[name] for name in ("owner", "scopes", "key_id")}
    assert told == {"owner": "anna", "scopes": ["photos:read"], "key_id": text.split("_")[1]}
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_session_is_told_whose_it_is(client: Client, auth: Auth, database: Database) -> None:
    text = Keys(database).create("anna", ["photos:read"])
    signed_in = client.post("/sign-in", data={"key": text}, headers={"Origin": "http://localhost"})
    me = client.get("/v1/me", headers={"Cookie": signed_in.headers["Set-Cookie"].partition(";")[0]}).json
    assert (me["owner"], me["key_id"]) == ("anna", text.split("_")[1])


def test_an_admin_makes_lists_rotates_and_revokes_keys(client: Client, admin: dict[str, str]) -> None:
    made = client.post("/v1/keys", json={"owner": "anna", "scopes": ["photos:read"]}, headers=admin)
    assert (made.status, made.headers["Cache-Control"]) == (201, "no-store")
    key = made.json
    assert client.get("/v1/photos", headers=bearer(key["key"])).status == 200

    rotated = client.post(f"/v1/keys/{key['id']}/rotate", json={"overlap_s": 3600}, headers=admin)
    assert (rotated.status, rotated.headers["Cache-Control"]) == (201, "no-store")
    assert client.get("/v1/photos", headers=bearer(rotated.json["key"])).status == 200

    listed = client.get("/v1/keys", headers=admin)
    assert [(each["owner"], each["state"]) for each in listed.json["keys"]] == [
        ("root", "live"),
        ("anna", "live"),
        ("anna", "live"),
    ]
    secrets = [each["key"].rpartition("_")[2].encode() for each in (key, rotated.json)]
    assert not any(secret in listed.body for secret in secrets)

    assert client.ask("DELETE", f"/v1/keys/{key['id']}", headers=admin).status == 204
    assert client.get("/v1/photos", headers=bearer(key["key"])).status == 401
    states = [each["state"] for each in client.get("/v1/keys", headers=admin).json["keys"]]
    assert states == ["live", "revoked", "live"]


def test_rotation_without_a_body_overlaps_for_a_day(client: Client, admin: dict[str, str]) -> None:
    old = client.post("/v1/keys", json={"owner": "anna", "scopes": ["admin"]}, headers=admin).json
    assert client.post(f"/v1/keys/{old['id']}/rotate", headers=admin).status == 201
    listed = {each["id"]: each for each in client.get("/v1/keys", headers=admin).json["keys"]}
    left = datetime.fromisoformat(listed[old["id"]]["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(hours=24)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"owner": " ", "scopes": ["admin"]},
        {"owner": "anna", "scopes": []},
        {"owner": "anna", "scopes": ["root"]},
        {"owner": "anna", "scopes": ["admin"], "expires_at": "2020-01-01T00:00:00Z"},
        {"owner": "anna", "scopes": ["admin"], "expires_at": "2999-01-01T00:00:00"},
        {"owner": "anna\u0000", "scopes": ["admin"]},
        {"owner": "anna", "scopes": ["admin"], "more": 1},
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    client: Client, admin: dict[str, str], body: dict[str, object]
) -> None:
    answer = client.post("/v1/keys", json=body, headers=admin)
    assert (answer.status, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert len(client.get("/v1/keys", headers=admin).json["keys"]) == 1


def test_a_body_without_end_is_refused(client: Client, admin: dict[str, str]) -> None:
    answer = client.post("/v1/keys", json={"owner": "x" * 2_000_000, "scopes": ["admin"]}, headers=admin)
    assert (answer.status, answer.json["code"]) == (413, "request-entity-too-large")


def test_what_is_not_there_is_404(client: Client, admin: dict[str, str]) -> None:
    for method, path in (
        ("DELETE", "/v1/keys/nope"),
        ("DELETE", "/v1/keys/0123456789ab"),
        ("DELETE", "/v1/keys/%00"),
        ("POST", "/v1/keys/nope/rotate"),
        ("POST", "/v1/keys/0123456789ab/rotate"),
        ("POST", "/v1/keys/%00/rotate"),
    ):
        answer = client.ask(method, path, headers=admin)
        assert (answer.status, answer.json["code"]) == (404, "key-not-found")


def test_nobody_else_sees_or_makes_keys(client: Client, auth: Auth) -> None:
    anna = auth("anna")
    for method, path in (
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("DELETE", "/v1/keys/nope"),
        ("POST", "/v1/keys/nope/rotate"),
    ):
        answer = client.ask(method, path, headers=anna)
        assert (answer.status, answer.json["code"]) == (403, "missing-scope")
