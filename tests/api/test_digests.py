"""`Content-Digest` and `Repr-Digest`: what a client says of its bytes is checked."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import pytest

from tests.http import Answer, Client, multipart
from tests.pictures import jpeg

Files = Callable[[], list[str]]
Post = Callable[..., Answer]


def digest(data: bytes, algorithm: str = "sha-256") -> str:
    """A digest in the form of RFC 9530."""
    value = base64.b64encode(hashlib.new(algorithm.replace("-", ""), data).digest()).decode()
    return f"{algorithm}=:{value}:"


@pytest.fixture
def post(client: Client, key: dict[str, str]) -> Post:
    """Uploads a body with headers."""

    def send(data: bytes, content_type: str = "image/jpeg", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {**key, "Content-Type": content_type, **named}
        return client.post("/v1/photos", data=data, headers=given)

    return send


RIGHT, WRONG = digest(jpeg()), digest(b"other")
RIGHT_512, WRONG_512 = digest(jpeg(), "sha-512"), digest(b"other", "sha-512")


@pytest.mark.parametrize("field", ["Content_Digest", "Repr_Digest"])
@pytest.mark.parametrize(
    "value",
    [
        RIGHT,
        RIGHT_512,
        f"{RIGHT_512}, {RIGHT}",
        f"md5=:AAAA:, {RIGHT}",
        "unixsum=30637",
        "x;y=1",
        "",
        RIGHT + ";p=1",
    ],
)
def test_what_fits_or_is_of_an_unknown_algorithm_is_taken(post: Post, field: str, value: str) -> None:
    assert post(jpeg(), **{field: value}).status == 202


@pytest.mark.parametrize("field", ["Content_Digest", "Repr_Digest"])
@pytest.mark.parametrize(
    "value", [WRONG, WRONG_512, f"{RIGHT}, {WRONG_512}", f"{RIGHT_512}, {WRONG}", f"md5=1, {WRONG}"]
)
def test_what_does_not_fit_is_refused_and_nothing_kept(
    post: Post, stored_files: Files, field: str, value: str
) -> None:
    answer = post(jpeg(), **{field: value})
    assert (answer.status, answer.json["code"]) == (400, "digest-mismatch")
    assert field.replace("_", "-") in answer.json["detail"]
    assert stored_files() == []


@pytest.mark.parametrize(
    "value",
    [
        "sha-256",
        "sha-256=abc",
        "sha-256=:AAAA:",
        "sha-256=:?:",
        "SHA-256=:AAAA:",
        RIGHT[:-1],
        "sha-256=",
        "\xff",
    ],
)
def test_a_malformed_digest_is_told(post: Post, stored_files: Files, value: str) -> None:
    answer = post(jpeg(), Content_Digest=value)
    assert (answer.status, answer.json["code"]) == (400, "malformed-digest")
    assert stored_files() == []


def test_a_forms_digest_is_of_its_whole_body_and_a_parts_is_of_the_file(
    post: Post, stored_files: Files
) -> None:
    part = ("file", "a.jpg", jpeg())
    body, content_type = multipart(part, headers={"Repr-Digest": RIGHT})
    assert post(body, content_type, Content_Digest=RIGHT).json["code"] == "digest-mismatch"
    body_wrong, _ = multipart(part, headers={"Repr-Digest": WRONG})
    assert post(body_wrong, content_type).json["code"] == "digest-mismatch"
    body_malformed, _ = multipart(part, headers={"Content-Digest": "sha-256=1"})
    assert post(body_malformed, content_type).json["code"] == "malformed-digest"
    assert stored_files() == []
    assert post(body, content_type, Content_Digest=digest(body)).status == 202


def test_an_original_says_its_digest(post: Post, client: Client, key: dict[str, str]) -> None:
    location = post(jpeg()).headers["Location"]
    assert client.get(f"{location}/original", headers=key).headers["Repr-Digest"] == RIGHT
