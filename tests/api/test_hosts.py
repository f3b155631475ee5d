"""Which names the service answers to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from api.hosts import hosts_of
from app import create_app
from config import Settings
from tests.http import Client

Auth = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("setting", "bound", "host", "known"),
    [
        ("", "127.0.0.1", "localhost", True),
        ("", "127.0.0.1", "LOCALHOST:8000", True),
        ("", "127.0.0.1", "localhost.", True),
        ("", "127.0.0.1", "[::1]:8000", True),
        ("", "127.0.0.1", "evil.example", False),
        ("", "127.0.0.1", "localhost.evil.example:8000", False),
        ("", "127.0.0.1", "127.0.0.1.evil.example", False),
        ("", "127.0.0.1", "192.0.2.7", False),
        ("", "127.0.0.1", "", False),
        ("", "127.0.0.1", "[::1", False),
        ("", "127.0.0.1", "evil.example@localhost", False),
        ("", "127.0.0.1", "localhost/evil.example", False),
        ("", "127.0.0.1", "localhost:8000:8000", False),
        ("", "127.0.0.1", "localhost, evil.example", False),
        ("", "127.0.0.1", "localhost\n", False),
        ("", "192.0.2.7", "192.0.2.7:8000", True),
        ("", "192.0.2.7", "192.0.2.8:8000", False),
        ("", "0.0.0.0", "192.0.2.8:8000", True),
        ("", "0.0.0.0", "[2001:db8::1]", True),
        ("", "0.0.0.0", "evil.example", False),
        ("photos.example.org, API", "0.0.0.0", "photos.example.org", True),
        ("photos.example.org, API", "0.0.0.0", "api:8000", True),
        ("photos.example.org", "0.0.0.0", "localhost", True),
        ("photos.example.org", "0.0.0.0", "192.0.2.8", False),
        ("photos.example.org", "0.0.0.0", "a.photos.example.org", False),
        (".example.org", "0.0.0.0", "a.photos.example.org", True),
        (".example.org", "0.0.0.0", "example.org", True),
        (".example.org", "0.0.0.0", "evilexample.org", False),
        ("[2001:db8::1]", "0.0.0.0", "[2001:db8::1]:8000", True),
    ],
)
def test_a_name_is_ours_or_not(setting: str, bound: str, host: str, known: bool) -> None:
    assert hosts_of(setting, bound).know(host) is known


@pytest.mark.parametrize("path", ["/v1/photos", "/openapi.json", "/nowhere", "/"])
def test_a_request_under_another_name_is_misdirected(client: Client, auth: Auth, path: str) -> None:
    answer = client.get(path, headers={**auth("anna"), "Host": "evil.example:8000"})
    assert (answer.status, answer.json["code"]) == (421, "misdirected-request")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_are_answered_under_any_name(client: Client, path: str) -> None:
    assert client.get(path, headers={"Host": "10.0.0.7"}).status == 200


def test_a_trusted_proxy_tells_the_name_that_was_asked_for(settings: Settings, auth: Auth) -> None:
    behind = replace(settings, hosts="photos.example.org", trusted_proxies=1)
    client, anna = Client(create_app(behind)), auth("anna")
    named = {**anna, "Host": "10.0.0.7:8000", "X-Forwarded-Host": "photos.example.org"}
    assert client.get("/v1/photos", headers=named).status == 200
    assert client.get("/v1/photos", headers={**named, "X-Forwarded-Host": "evil.example"}).status == 421
    alone = Client(create_app(replace(behind, trusted_proxies=0)))
    assert alone.get("/v1/photos", headers=named).status == 421
