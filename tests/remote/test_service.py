"""The client over real sockets: two dialects, and a service that can't be trusted."""

from __future__ import annotations

import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from flask import Flask, Response, request

from embedded.ports import any_free_port
from examples.slow_service import Behaviour
from remote.breaker import Breaker
from remote.errors import RemoteBusy, RemoteError, RemoteRejected, RemoteTrouble, RemoteUnreachable
from remote.service import MAX_ANSWER_BYTES, Service
from tests.slow_service import serving, slow_service

QUESTION = {"photo": {"id": "1", "exif": {"latitude": 1.0}}}
Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves one answer at every path: `serve(status, body, headers)`; gives the address."""
    with ExitStack() as stack:

        def start(status: int = 200, body: Any = b"", headers: dict[str, str] | None = None) -> str:
            app = Flask("one-answer")

            @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
            @app.route("/<path:path>", methods=["GET", "POST"])
            def answer(path: str) -> Response:
                given = body() if callable(body) else body
                return Response(given, status, {"Content-Type": "application/json", **(headers or {})})

            return stack.enter_context(serving(app))

        yield start


def client(url: str, **options: Any) -> Service:
    """A client that nothing stops."""
    return Service(url, Breaker(failures=1000), **{"timeout_s": 5.0, **options})


def ask(url: str, **options: Any) -> Any:
    """Submit the question once."""
    return client(url, **options).submit(QUESTION, key="k")


def test_a_status_in_the_body_is_asked_again_at_the_same_url() -> None:
    with slow_service(Behaviour(polls=2, retry_after_s=7)) as site:
        service = client(site.url("body"))
        answers = [service.submit(QUESTION, key="k") for _ in range(3)]
    assert [answer.done for answer in answers] == [False, False, True]
    assert [len(answer.data) for answer in answers] == [1, 2, 4]
    assert (answers[0].retry_after_s, answers[0].operation_url) == (7.0, None)
    assert site.jobs.photos == {"1": 1}


def test_an_operation_is_polled_at_its_own_url() -> None:
    with slow_service(Behaviour(polls=2)) as site:
        service = client(site.url("operations"))
        first = service.submit(QUESTION, key="k")
        assert first.operation_url == f"{site.address}/operations/k"
        answers = [service.poll(first.operation_url) for _ in range(2)]
    assert [answer.done for answer in (first, *answers)] == [False, False, True]
    assert set(answers[-1].data) == {"place", "labels", "faces", "moderation"}


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_5xx_is_trouble_and_says_when_to_come_again(serve: Serve, status: int) -> None:
    with pytest.raises(RemoteTrouble) as caught:
        ask(serve(status, headers={"Retry-After": "12"}))
    assert caught.value.retry_after_s == 12


@pytest.mark.parametrize("status", [408, 425, 429])
def test_a_service_that_is_busy_is_asked_later(serve: Serve, status: int) -> None:
    with pytest.raises(RemoteBusy) as caught:
        ask(serve(status, headers={"Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT"}))
    assert caught.value.retry_after_s is not None


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 410, 422])
def test_a_refusal_and_a_redirect_are_for_good(serve: Serve, status: int) -> None:
    other = serve(200, b'{"status": "done"}')
    with pytest.raises(RemoteRejected):
        ask(serve(status, headers={"Location": other}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"[]",
        b"1",
        b'"text"',
        b"{}",
        b'{"status": "else"}',
        b'{"status": "done", "data": [1]}',
        b'{"status": "done", "data": {"a": NaN}}',
        b'{"status": "done", "data": {"a": 1e999}}',
        b'{"status": "done", "data": {"a": ' + b"9" * 5000 + b"}}",
        b'{"status": "done", "data": ' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}",
        b'{"a":' * 50_000,
        b"\xff\xfe",
    ],
    ids=range(14),
)
def test_what_can_not_be_read_is_trouble(serve: Serve, body: bytes) -> None:
    with pytest.raises(RemoteTrouble):
        ask(serve(200, body))


def test_failed_is_for_good(serve: Serve) -> None:
    with pytest.raises(RemoteRejected, match="gave it up"):
        ask(serve(200, b'{"status": "failed", "data": {"why": "secret"}}'))


def test_what_postgresql_can_not_keep_is_replaced(serve: Serve) -> None:
    answer = ask(serve(200, rb'{"status": "done", "data": {"a\u0000": "b\u0000\ud800"}}'))
    assert answer.data == {"a�": "b�?"}


@pytest.mark.parametrize("announced", [True, False])
def test_an_answer_over_a_mebibyte_is_cut_off_for_good(serve: Serve, announced: bool) -> None:
    sent: list[int] = []

    def pieces() -> Iterator[bytes]:
        for _ in range(200):
            sent.append(1)
            yield b" " * 64 * 1024

    body = (b" " * (MAX_ANSWER_BYTES + 1)) if announced else pieces
    with pytest.raises(RemoteRejected, match="larger"):
        ask(serve(200, body))
    assert len(sent) < 200


def test_a_compressed_answer_is_refused(serve: Serve) -> None:
    with pytest.raises(RemoteRejected, match="compressed"):
        ask(serve(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}))


@pytest.mark.parametrize(
    "location",
    [
        "http://elsewhere.test/operations/1",
        "//elsewhere.test/1",
        "https://127.0.0.1/1",
        "http://127.0.0.1:1/1",
        "http://me:secret@127.0.0.1/1",
        "file:///etc/passwd",
        "http://127.0.0.1:x/1",
        "http://[::1/",
    ],
)
def test_an_operation_on_another_origin_is_refused(serve: Serve, location: str) -> None:
    with pytest.raises(RemoteRejected, match="another host"):
        ask(serve(202, headers={"Operation-Location": location}))


def test_an_answer_that_drips_is_cut_off_in_time(serve: Serve) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" "
            time.sleep(0.02)

    begun_s = time.monotonic()
    with pytest.raises(RemoteTrouble):
        ask(serve(200, drip), timeout_s=0.3)
    assert time.monotonic() - begun_s < 10


def test_an_answer_that_does_not_come_is_given_up() -> None:
    with slow_service(Behaviour(delay_s=20)) as site, pytest.raises(RemoteTrouble, match="broke off"):
        ask(site.url("body"), timeout_s=0.3)


def test_a_service_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(RemoteUnreachable):
        ask(f"http://127.0.0.1:{any_free_port()}")


def test_a_service_whose_certificate_nobody_vouches_for_is_told_nothing(tmp_path: Path) -> None:
    key, certificate, got = tmp_path / "key.pem", tmp_path / "certificate.pem", []
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files],
        check=True,
        capture_output=True,
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    app = Flask("unknown")

    @app.post("/")
    def answer() -> Response:
        got.append(request.headers)
        return Response('{"status": "done"}')

    with serving(app, tls) as address, pytest.raises(RemoteTrouble, match="SSL"):
        ask(address, key="ours")
    assert got == []


def test_the_key_is_sent_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    got: list[dict[str, str]] = []
    app = Flask("headers")

    @app.post("/")
    def answer() -> Response:
        got.append({name.lower(): value for name, value in request.headers})
        return Response('{"status": "done"}', headers={"Set-Cookie": "a=b"})

    with serving(app) as address:
        service = client(address, key="ours")
        for _ in range(2):
            service.submit(QUESTION, key="k")
    assert got[0]["authorization"] == "Bearer ours"
    assert got[0]["idempotency-key"] == "k"
    assert "cookie" not in got[1]


class _Counting(BaseHTTPRequestHandler):
    """Keeps connections, which Flask's own server doesn't; counts them, and the calls at once."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    ports: ClassVar[set[int]] = set()
    busy, most = 0, 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            self.ports.add(self.client_address[1])
            _Counting.busy += 1
            _Counting.most = max(self.most, self.busy)
        time.sleep(0.02)
        with self.lock:
            _Counting.busy -= 1
        self.send_response(200)
        self.send_header("Content-Length", "18")
        self.end_headers()
        self.wfile.write(b'{"status": "done"}')

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_connections_are_kept_and_bounded() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Counting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        service = client(f"http://127.0.0.1:{server.server_port}", connections=3)
        threads = [
            threading.Thread(target=lambda: [service.submit(QUESTION, key="k") for _ in range(5)])
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.shutdown()
        service.close()
    assert 1 < _Counting.most <= 3
    assert len(_Counting.ports) <= 3


def test_nothing_of_the_services_own_words_is_told(serve: Serve) -> None:
    for status in (400, 500):
        with pytest.raises(RemoteError) as caught:
            ask(serve(status, b"SECRET"))
        assert "SECRET" not in str(caught.value)
