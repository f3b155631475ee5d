"""Access over real sockets: limits while Redis hangs, and what is answered before the app sees a request."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import redis
from werkzeug.datastructures import Headers

from api.key_cache import CACHE_S
from embedded import processes
from tests.flows.farm import Farm
from tests.http import Answer
from tests.pictures import jpeg
from tests.stack import Stack


def answer_to(stack: Stack, head: bytes) -> Answer:
    """The answer to the bytes of a request's head."""
    with socket.create_connection(("127.0.0.1", stack.settings.port), timeout=10) as connection:
        connection.sendall(head)
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            return Answer(response.status, Headers(response.getheaders()), response.read())


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "bad-request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400, "bad-request"),
        (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n", 414, "uri-too-long"),
        (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
            431,
            "request-header-fields-too-large",
        ),
    ],
)
def test_a_head_that_the_server_refuses_is_a_problem_too(
    stack: Stack, head: bytes, status: int, code: str
) -> None:
    answer = answer_to(stack, head)
    assert (answer.status, answer.json["status"], answer.json["code"]) == (status, status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_no_client_makes_the_scheme_https_by_a_header(stack: Stack) -> None:
    key = stack.key("anna")["Authorization"].removeprefix("Bearer ")
    answer = stack.ask(
        "POST",
        "/sign-in",
        body=f"key={key}".encode(),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{stack.settings.port}",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Ssl": "on",
        },
    )
    assert answer.status == 303
    assert "Secure" not in answer.headers["Set-Cookie"]


def test_a_revoked_key_is_known_to_all_processes_within_seconds(stack: Stack) -> None:
    key = stack.key("anna", "photos:read")
    identity = key["Authorization"].split("_")[1]
    assert {stack.get("/v1/me", key).status for _ in range(10)} == {200}
    used = "SELECT FROM keys WHERE id = :id AND last_used_at IS NOT NULL"
    assert processes.settles(lambda: bool(stack.query(used, id=identity)), timeout_s=10)
    stack.query("UPDATE keys SET revoked_at = clock_timestamp() WHERE id = :id RETURNING id", id=identity)

    def refused() -> bool:
        return stack.get("/v1/me", key).status in (401, 429)  # after many wrong keys the latter

    assert processes.settles(refused, timeout_s=CACHE_S + 5)
    # The other process heard of the key at the same time.
    assert processes.settles(lambda: all(refused() for _ in range(4)), timeout_s=CACHE_S)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_while_redis_hangs_limits_hold_and_uploads_go_on(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    farm = Farm(tmp_path_factory.mktemp("farm"), workers=1)
    farm.settings = replace(farm.settings, rate_limit="60/hour")
    with farm:
        anna, bert = farm.key("anna"), farm.key("bert")
        pictures = [jpeg(seed=seed) for seed in range(50)]
        os.kill(farm.valkey.process.pid, signal.SIGSTOP)

        def upload(picture: bytes) -> tuple[int, float]:
            begun_s = time.monotonic()
            status = farm.ask("POST", "/v1/photos", body=picture, headers=anna).status
            return status, time.monotonic() - begun_s

        with ThreadPoolExecutor(8) as clients:
            uploads = list(clients.map(upload, pictures))
        assert {status for status, _ in uploads} == {202}
        took_s = sorted(took for _, took in uploads)
        with capsys.disabled():
            print(f"\nuploads while Redis hangs: median {took_s[25]:.3f} s, p95 {took_s[47]:.3f} s")  # noqa: T201
        # Each of two processes counts for itself: 120 at most.
        statuses = [farm.get("/v1/photos", anna).status for _ in range(121)]
        assert set(statuses) == {200, 429}

        os.kill(farm.valkey.process.pid, signal.SIGCONT)
        with redis.Redis.from_url(farm.settings.redis_url) as client:

            def counted_there() -> bool:
                assert farm.get("/v1/photos", bert).status in (200, 429)
                return bool(client.keys("safelight-limits*"))

            assert processes.settles(counted_there, timeout_s=20)
