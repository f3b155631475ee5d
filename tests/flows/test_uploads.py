"""Uploads over a real socket: what a client does that breaks off, lies about its length, or sends a lot."""

from __future__ import annotations

import http.client
import random
import socket
from uuid import uuid4

import pytest
from werkzeug.datastructures import Headers

from embedded import processes
from tests.flows.load import files, peak_bytes
from tests.http import Answer, ask, multipart
from tests.pictures import jpeg, large_jpeg
from tests.stack import Stack

MIB = 1024 * 1024


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


def raw_request(stack: Stack, key: dict[str, str], *headers: str, path: str = "/v1/photos") -> socket.socket:
    """A connection on which the head of an upload was sent."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {key['Authorization']}",
        *headers,
        "",
        "",
    ]
    connection = socket.create_connection(("127.0.0.1", stack.settings.port), timeout=30)
    connection.sendall("\r\n".join(lines).encode())
    return connection


def answer_on(connection: socket.socket) -> Answer:
    """The answer, read to its end."""
    with http.client.HTTPResponse(connection) as response:
        response.begin()
        return Answer(response.status, Headers(response.getheaders()), response.read())


@pytest.mark.parametrize("framing", ["Content-Length: 3000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("way", ["raw", "multipart"])
def test_a_client_that_goes_away_in_mid_upload_leaves_nothing(
    stack: Stack, key: dict[str, str], framing: str, way: str
) -> None:
    before, photos = files(stack), stack.query("SELECT count(*) FROM photos")
    body, content_type = large_jpeg(2 * MIB), "image/jpeg"
    if way == "multipart":
        body, content_type = multipart(("file", "a.jpg", body))
        body = body[: 2 * MIB]
    connection = raw_request(stack, key, framing, f"Content-Type: {content_type}")
    if "chunked" in framing:
        body = b"%x\r\n%s\r\n" % (len(body), body)
    connection.sendall(body)
    assert processes.settles(lambda: files(stack) != before, timeout_s=10), "it isn't being received"
    connection.close()

    assert processes.settles(lambda: files(stack) == before, timeout_s=10)
    assert stack.query("SELECT count(*) FROM photos") == photos


def test_a_body_that_is_shorter_than_it_says_is_refused(stack: Stack, key: dict[str, str]) -> None:
    with raw_request(stack, key, "Content-Length: 50000", "Connection: close") as connection:
        connection.sendall(jpeg())
        connection.shutdown(socket.SHUT_WR)
        answer = answer_on(connection)
    assert (answer.status, answer.json["code"]) == (400, "incomplete-body")


@pytest.mark.parametrize("chunk", [b"xyz\r\n", b"-5\r\nabcde\r\n", b"\r\n\r\n"])
def test_a_malformed_chunk_is_the_clients_error(stack: Stack, key: dict[str, str], chunk: bytes) -> None:
    with raw_request(stack, key, "Transfer-Encoding: chunked") as connection:
        connection.sendall(b"5\r\n\xff\xd8\xff\xe0\x00\r\n" + chunk)
        answer = answer_on(connection)
    assert (answer.status, answer.json["code"]) == (400, "malformed-body")


@pytest.mark.parametrize("length", ["-1", "1e9", "12, 13", "99999999999999999999999"])
def test_a_content_length_that_is_none_is_refused(stack: Stack, key: dict[str, str], length: str) -> None:
    with raw_request(stack, key, f"Content-Length: {length}") as connection:
        assert answer_on(connection).status in (400, 413)


def test_a_chunked_upload_is_taken(stack: Stack, key: dict[str, str]) -> None:
    data = large_jpeg(3 * MIB, seed=1)
    chunks = (data[at : at + 100_000] for at in range(0, len(data), 100_000))
    answer = stack.ask("POST", "/v1/photos", body=chunks, headers=key)
    assert (answer.status, answer.json["size_bytes"]) == (202, len(data))


def test_a_multipart_upload_of_any_size_is_taken(stack: Stack, key: dict[str, str]) -> None:
    noise = random.Random(2).randbytes(5 * MIB)
    body, content_type = multipart(("file", "a.jpg", jpeg(seed=2) + noise))
    answer = stack.ask("POST", "/v1/photos", body=body, headers={**key, "Content-Type": content_type})
    assert (answer.status, answer.json["size_bytes"]) == (202, len(jpeg(seed=2)) + len(noise))


@pytest.mark.parametrize("key_text", [None, "sl_000000000000_" + "0" * 48])
def test_a_refused_large_upload_is_answered_and_not_reset(stack: Stack, key_text: str | None) -> None:
    headers = {"Authorization": f"Bearer {key_text}"} if key_text else {}
    # http.client sends the whole body before it reads a byte of the answer
    answer = ask(stack.settings.port, "POST", "/v1/photos", body=large_jpeg(64 * MIB), headers=headers)
    assert answer.status == 401
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_file_over_the_limit_is_answered_413_before_it_is_sent(stack: Stack, key: dict[str, str]) -> None:
    with raw_request(stack, key, f"Content-Length: {stack.settings.max_upload_bytes + 1}") as connection:
        answer = answer_on(connection)
    assert (answer.status, answer.json["code"]) == (413, "upload-too-large")


def test_a_second_request_with_the_key_of_one_under_way_is_409_and_later_gets_its_answer(
    stack: Stack, key: dict[str, str]
) -> None:
    data, named = jpeg(seed=60), {"Idempotency-Key": "under-way"}
    with raw_request(stack, key, f"Content-Length: {len(data)}", "Idempotency-Key: under-way") as connection:
        connection.sendall(data[:100])
        query = "SELECT FROM idempotency_keys WHERE key = 'under-way'"
        assert processes.settles(lambda: bool(stack.query(query)), timeout_s=10)
        second = stack.ask("POST", "/v1/photos", body=data, headers={**key, **named})
        assert (second.status, second.json["code"]) == (409, "idempotency-key-in-use")
        connection.sendall(data[100:])
        first = answer_on(connection)
    assert first.status == 202
    again = stack.ask("POST", "/v1/photos", body=data, headers={**key, **named})
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_client_that_goes_away_gives_its_key_up(stack: Stack, key: dict[str, str]) -> None:
    query = "SELECT FROM idempotency_keys WHERE key = 'gone'"
    with raw_request(stack, key, "Content-Length: 30000", "Idempotency-Key: gone") as connection:
        connection.sendall(jpeg()[:100])
        assert processes.settles(lambda: bool(stack.query(query)), timeout_s=10)
    assert processes.settles(lambda: not stack.query(query), timeout_s=10)


def test_a_batch_keeps_what_came_whole_when_its_client_goes_away(stack: Stack, key: dict[str, str]) -> None:
    before = files(stack)
    body, content_type = multipart(("file", "a.jpg", jpeg(seed=61)), ("file", "b.jpg", large_jpeg(2 * MIB)))
    head = (f"Content-Length: {len(body)}", f"Content-Type: {content_type}")
    with raw_request(stack, key, *head, path="/v1/photos/batch") as connection:
        connection.sendall(body[:-1000])
        listed = lambda: [photo["filename"] for photo in stack.get("/v1/photos", key).json["photos"]]  # noqa: E731
        assert processes.settles(lambda: listed() == ["a.jpg"], timeout_s=10)
    assert processes.settles(lambda: not any("#" in name for name in files(stack)), timeout_s=10)
    assert listed() == ["a.jpg"]
    originals = [name for name in files(stack) - before if "/originals/" in name]
    assert len(originals) == 1


@pytest.mark.parametrize("way", ["raw", "multipart"])
def test_a_200_mb_upload_does_not_show_in_the_apis_memory(
    stack: Stack, key: dict[str, str], way: str
) -> None:
    stack.upload(large_jpeg(8 * MIB, seed=3), key)  # what any first upload loads is there before
    before = peak_bytes(stack)
    body, content_type = large_jpeg(200 * MIB, seed=4), "image/jpeg"
    if way == "multipart":
        body, content_type = multipart(("file", "a.jpg", body))
    answer = stack.ask("POST", "/v1/photos", body=body, headers={**key, "Content-Type": content_type})
    assert answer.status == 202, answer.body
    assert peak_bytes(stack) - before < 40 * MIB
