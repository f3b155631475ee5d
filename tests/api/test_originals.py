"""Originals: ranges and conditional requests (RFC 9110, sections 13 and 14)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.http import Answer, Client
from tests.pictures import jpeg

DATA = jpeg()
SIZE = len(DATA)
ETAG = f'"{hashlib.sha256(DATA).hexdigest()}"'


@pytest.fixture
def path(client: Client, key: dict[str, str]) -> str:
    """Where an original is."""
    return f"{client.post('/v1/photos', data=DATA, headers=key).headers['Location']}/original"


@pytest.fixture
def get(client: Client, key: dict[str, str], path: str) -> Any:
    """Asks for it: `get(Range="bytes=0-1")`; `method="HEAD"` goes too."""

    def ask(method: str = "GET", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.ask(method, path, headers={**key, **named})

    return ask


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-", 0, SIZE),
        ("bytes=10-99", 10, 100),
        ("Bytes=10-99", 10, 100),
        (" bytes=10-99 ", 10, 100),
        (f"bytes=10-{SIZE * 9}", 10, SIZE),
        (f"bytes={SIZE - 1}-", SIZE - 1, SIZE),
        ("bytes=-1", SIZE - 1, SIZE),
        (f"bytes=-{SIZE}", 0, SIZE),
        (f"bytes=-{SIZE + 1}", 0, SIZE),
    ],
)
def test_a_range_is_answered_206_with_just_its_bytes(get: Any, asked: str, first: int, end: int) -> None:
    answer = get(Range=asked)
    assert (answer.status, answer.body) == (206, DATA[first:end])
    assert answer.headers["Content-Range"] == f"bytes {first}-{end - 1}/{SIZE}"
    assert answer.headers["Content-Length"] == str(end - first)
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Content-Type"] == "image/jpeg"


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=a-b",
        "bytes=5-2",
        "bytes=--5",
        "items=0-1",
        "bytes=0-1,5-6",
        "bytes=１-２",
    ],
)
def test_what_is_no_single_range_gets_the_whole(get: Any, asked: str) -> None:
    answer = get(Range=asked)
    assert (answer.status, answer.body) == (200, DATA)
    assert "Content-Range" not in answer.headers
    assert answer.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(
    "asked", [f"bytes={SIZE}-", f"bytes={SIZE * 10}-{SIZE * 11}", "bytes=-0", "bytes=-00"]
)
def test_a_range_with_nothing_in_it_is_416_and_says_how_long_the_file_is(get: Any, asked: str) -> None:
    answer = get(Range=asked)
    assert (answer.status, answer.json["code"]) == (416, "range-not-satisfiable")
    assert answer.headers["Content-Range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize(
    ("if_range", "status"),
    [
        (ETAG, 206),
        ('"another"', 200),
        (f"W/{ETAG}", 200),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 200),
        ("", 200),
        ("nonsense", 200),
    ],
)
def test_if_range_is_only_for_this_very_file(get: Any, if_range: str, status: int) -> None:
    answer = get(Range="bytes=0-9", If_Range=if_range)
    assert (answer.status, answer.body) == (status, DATA[:10] if status == 206 else DATA)
    assert get(Range=f"bytes={SIZE}-", If_Range=if_range).status == (416 if status == 206 else 200)


@pytest.mark.parametrize("known", [ETAG, f"W/{ETAG}", "*", f'"another", {ETAG}'])
def test_what_the_client_has_is_304_whatever_its_range(get: Any, known: str) -> None:
    for headers in ({}, {"Range": "bytes=0-9"}):
        answer = get(If_None_Match=known, **headers)
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", ETAG)
        assert answer.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If_None_Match": '"another"'}, 200),
        ({"If_Match": ETAG}, 200),
        ({"If_Match": "*"}, 200),
        ({"If_Match": f'"another", {ETAG}'}, 200),
        ({"If_Match": '"another"'}, 412),
        ({"If_Match": f"W/{ETAG}"}, 412),
        ({"If_Match": '"another"', "If_None_Match": ETAG}, 412),
        ({"If_Match": '"another"', "Range": "bytes=0-1"}, 412),
        ({"If_Match": ETAG, "Range": "bytes=0-1"}, 206),
        ({"If_Unmodified_Since": "Wed, 21 Oct 2015 07:28:00 GMT"}, 200),
    ],
)
def test_a_condition_is_kept_to(get: Any, headers: dict[str, str], status: int) -> None:
    assert get(**headers).status == status


def test_head_is_get_without_a_body_and_knows_no_range(get: Any) -> None:
    head, whole = get("HEAD"), get()
    varying = {"Date", "X-Request-ID", "X-Trace-ID", "RateLimit"}

    def stable(answer: Answer) -> set[tuple[str, str]]:
        return {(name, value) for name, value in answer.headers.items() if name not in varying}

    assert (head.status, head.body, stable(head)) == (200, b"", stable(whole))
    assert head.headers["Content-Length"] == str(SIZE)
    ranged = get("HEAD", Range="bytes=0-9")
    assert (ranged.status, ranged.headers["Content-Length"]) == (200, str(SIZE))
    assert get("HEAD", If_None_Match=ETAG).status == 304


def test_every_whole_or_partial_answer_is_a_safe_attachment(get: Any) -> None:
    for answer in (get(), get(Range="bytes=0-9")):
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
