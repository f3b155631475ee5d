"""Who may ask what."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from db.session import Database
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
OPEN = {
    "/livez",
    "/readyz",
    "/openapi.json",
    "/sign-in",
    "/sign-in/<link>",
    # the way in for who isn't signed in, and files that are the same for all
    "/",
    "/console/<string:of>/<path:name>",
    # its token is a signed link, and stands for a key
    "/v1/shared/previews/<string:token>",
}
UNKNOWN = "sl_0123456789ab_" + "0" * 48


def test_every_route_but_the_open_ones_wants_a_key(app: Flask, client: Client) -> None:
    values = {"photo_id": "0" * 8 + "-0000-4000-8000-" + "0" * 12, "size": "small"}
    asked = []
    for rule in app.url_map.iter_rules():
        if rule.rule in OPEN or rule.rule.startswith(("/docs", "/static")):
            continue
        unknown = rule.arguments - values.keys()
        arguments = {**values, **dict.fromkeys(unknown, values["photo_id"])}
        built = rule.build({name: arguments[name] for name in rule.arguments})
        assert built is not None
        for method in (rule.methods or set()) - {"OPTIONS"}:
            answer = client.ask(method, built[1])
            assert answer.status == 401, (method, rule.rule)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
            asked.append(rule.rule)
    assert {"/v1/photos/<uuid:photo_id>/original", "/v1/keys/<string:key_id>", "/v1/me", "/sign-out"} <= set(
        asked
    )


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (None, 'Bearer realm="safelight"'),
        ("", 'Bearer realm="safelight"'),
        ("Bearer", 'Bearer realm="safelight"'),
        ("Bearer ", 'Bearer realm="safelight"'),
        ("Basic YTpi", 'Bearer realm="safelight"'),
        (f"Bearer {UNKNOWN}", 'Bearer realm="safelight", error="invalid_token"'),
        ("Bearer x", 'Bearer realm="safelight", error="invalid_token"'),
        ("Bearer schlüssel", 'Bearer realm="safelight", error="invalid_token"'),
        ("Bearer " + "x" * 5000, 'Bearer realm="safelight", error="invalid_token"'),
    ],
)
def test_a_request_without_a_usable_key_is_401_and_told_why(
    client: Client, header: str | None, told: str
) -> None:
    answer = client.get("/v1/photos", headers={} if header is None else {"Authorization": header})
    assert (answer.status, answer.json["code"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == told


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_schemes_case_does_not_count(client: Client, make_key: Callable[..., str], scheme: str) -> None:
    answer = client.get("/v1/photos", headers={"Authorization": f"{scheme} {make_key()}"})
    assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/v1/photos", "photos:write"),
        ("GET", "/v1/photos", "photos:read"),
        ("GET", "/v1/photos/{id}", "photos:read"),
        ("GET", "/v1/photos/{id}/previews/small", "photos:read"),
        ("GET", "/v1/photos/{id}/exif", "photos:read"),
        ("GET", "/v1/photos/{id}/original", "originals:read"),
    ],
)
def test_a_route_wants_its_scope_and_no_other(
    client: Client, auth: Auth, method: str, path: str, scope: str
) -> None:
    photo = client.post("/v1/photos", data=jpeg(), headers=auth("anna")).json
    path = path.format(id=photo["id"])
    others = {"photos:write", "photos:read", "originals:read"} - {scope}
    refused = client.ask(method, path, headers=auth("anna", *others))
    assert (refused.status, refused.json["code"]) == (403, "missing-scope")
    assert f'scope="{scope}"' in refused.headers["WWW-Authenticate"]
    for enough in (scope, "admin"):
        data = jpeg() if method == "POST" else None
        assert client.ask(method, path, headers=auth("anna", enough), data=data).status in (200, 202)


def test_a_refused_upload_is_not_received(
    client: Client, auth: Auth, stored_files: Callable[[], list[str]], database: Database
) -> None:
    for headers in ({}, auth("anna", "photos:read")):
        assert client.post("/v1/photos", data=jpeg(), headers=headers).status in (401, 403)
    assert stored_files() == []
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM photos").scalar_one() == 0
