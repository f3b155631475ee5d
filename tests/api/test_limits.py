"""How many requests a key may make, how many wrong keys an address; with Redis, and while it is away."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from api.limits import Limits
from app import create_app
from config import Settings
from embedded.ports import any_free_port
from tasks.broker import connect
from tests.http import Client
from tests.pictures import jpeg
from tests.waiting import until

Auth = Callable[..., dict[str, str]]
UNKNOWN = {"Authorization": "Bearer sl_0123456789ab_" + "0" * 48}


@pytest.fixture
def limited(settings: Settings) -> Client:
    """A client of an API that allows each key 5 requests an hour."""
    return Client(create_app(replace(settings, rate_limit="5/hour")))


@pytest.fixture
def hanging() -> Iterator[str]:
    """The URL of a Redis that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def test_a_key_may_make_so_many_requests_and_is_told_how_many_are_left(limited: Client, auth: Auth) -> None:
    anna, bert = auth("anna"), auth("bert")
    answers = [limited.get("/v1/photos", headers=anna) for _ in range(5)]
    assert [answer.status for answer in answers] == [200] * 5
    assert [answer.headers["RateLimit"].split(";")[1] for answer in answers] == [
        f"r={n}" for n in (4, 3, 2, 1, 0)
    ]
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {'"key";q=5;w=3600'}
    refused = limited.post("/v1/photos", data=jpeg(), headers=anna)
    assert (refused.status, refused.json["code"]) == (429, "rate-limited")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert 0 < int(refused.headers["Retry-After"]) <= 7200
    assert refused.headers["RateLimit"].startswith('"key";r=0;t=')
    assert limited.get("/v1/photos", headers=bert).status == 200


def test_all_processes_count_together(settings: Settings, auth: Auth) -> None:
    anna = auth("anna")
    processes = [Client(create_app(replace(settings, rate_limit="5/hour"))) for _ in range(2)]
    statuses = [processes[number % 2].get("/v1/photos", headers=anna).status for number in range(7)]
    assert statuses == [200] * 5 + [429] * 2


def test_what_is_left_is_told_with_what_other_processes_counted(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.STANDS_S", 0.2)
    one, other = (Limits(connect(redis_url), "1000/hour") for _ in range(2))

    def left(by: Limits) -> int:
        window = by.request_of("a key")
        assert window is not None
        return window.remaining

    assert [left(one), left(other), left(one)] == [999, 998, 998]
    asked = itertools.count(4)
    until(lambda: left(one) == 1000 - next(asked))  # with the other's one


def test_a_limit_that_is_off_is_not_told(settings: Settings, auth: Auth) -> None:
    answer = Client(create_app(replace(settings, rate_limit="off"))).get("/v1/photos", headers=auth("anna"))
    assert (answer.status, "RateLimit" in answer.headers) == (200, False)


def test_wrong_keys_from_one_address_are_429_from_the_21st_on_and_right_ones_go_on(
    client: Client, auth: Auth
) -> None:
    def ask(headers: dict[str, str], address: str) -> int:
        return client.get("/v1/photos", headers=headers, environ_base={"REMOTE_ADDR": address}).status

    assert [ask(UNKNOWN, "192.0.2.1") for _ in range(20)] == [401] * 20
    answer = client.get("/v1/photos", headers=UNKNOWN, environ_base={"REMOTE_ADDR": "192.0.2.1"})
    assert (answer.status, answer.json["code"]) == (429, "too-many-bad-keys")
    assert 0 < int(answer.headers["Retry-After"]) <= 120
    assert ask({"Authorization": "Bearer x"}, "192.0.2.1") == 429
    assert ask({}, "192.0.2.1") == 401  # no key is not a wrong key
    assert ask(auth("anna"), "192.0.2.1") == 200
    assert ask(UNKNOWN, "192.0.2.2") == 401


def test_the_addresses_of_one_ipv6_network_are_one(client: Client) -> None:
    asked = [
        client.get("/v1/photos", headers=UNKNOWN, environ_base={"REMOTE_ADDR": f"2001:db8::{number:x}"})
        for number in range(21)
    ]
    assert [answer.status for answer in asked] == [401] * 20 + [429]


def test_nobody_changes_their_address_by_a_header_unless_a_proxy_is_trusted(settings: Settings) -> None:
    def statuses(trusted: int) -> list[int]:
        client = Client(create_app(replace(settings, trusted_proxies=trusted)))
        return [
            client.get("/v1/photos", headers={**UNKNOWN, "X-Forwarded-For": f"192.0.2.{number}"}).status
            for number in range(21)
        ]

    assert statuses(1) == [401] * 21
    assert statuses(0) == [401] * 20 + [429]


def test_without_redis_each_process_counts_for_itself_and_uploads_go_on(
    settings: Settings, auth: Auth
) -> None:
    away = replace(settings, redis_url=f"redis://127.0.0.1:{any_free_port()}/0", rate_limit="5/hour")
    client, anna = Client(create_app(away)), auth("anna")
    uploads = [client.post("/v1/photos", data=jpeg(), headers=anna).status for _ in range(6)]
    assert uploads == [202, 200, 200, 200, 200, 429]


def test_a_hanging_redis_costs_one_request_a_moment_and_not_each(
    settings: Settings, auth: Auth, hanging: str
) -> None:
    client, anna = Client(create_app(replace(settings, redis_url=hanging))), auth("anna")
    begun_s = time.monotonic()
    statuses = [client.get("/v1/photos", headers=anna).status for _ in range(40)]
    assert statuses == [200] * 40
    assert time.monotonic() - begun_s < 8  # waiting each time would take 20


def test_many_requests_that_meet_an_outage_at_once_are_all_answered(hanging: str) -> None:
    limits = Limits(connect(hanging), "1000/hour")
    with ThreadPoolExecutor(16) as pool:
        windows = list(pool.map(limits.request_of, ["a key"] * 64))
    assert all(window is not None and window.allowed for window in windows)


def test_when_redis_is_back_all_count_together_again(
    redis_url: str, hanging: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.RETRY_S", 0.2)
    monkeypatch.setattr("api.limits.STANDS_S", 0.0)
    real = urlsplit(redis_url)
    assert real.scheme == "unix"
    link = folder / "redis"
    link.symlink_to(folder / "nowhere")
    limits = Limits(connect(f"unix://{link}?db={parse_qs(real.query)['db'][0]}"), "1000/hour")
    others = Limits(connect(redis_url), "1000/hour")

    def left(by: Limits) -> int:
        window = by.request_of("a key")
        assert window is not None
        return window.remaining

    assert [left(limits), left(limits), left(others)] == [999, 998, 999]
    link.unlink()
    link.symlink_to(real.path)
    until(lambda: left(limits) < 998 and abs(left(others) - left(limits)) == 1)
