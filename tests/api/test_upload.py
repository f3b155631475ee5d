"""What can be sent to `POST /v1/photos`, and what is kept of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from config import Settings
from tests.http import Answer, Client, multipart
from tests.pictures import jpeg

if TYPE_CHECKING:
    from typing_extensions import Buffer

Auth = Callable[..., dict[str, str]]
Files = Callable[[], list[str]]
Post = Callable[..., Answer]
FILE = ("file", "a.jpg", jpeg())


@pytest.fixture
def post(client: Client, auth: Auth) -> Post:
    """Uploads a body with Anna's key: `post(body, content_type)`."""
    key = auth("anna")

    def send(body: bytes, content_type: str = "image/jpeg", **headers: str) -> Answer:
        return client.post("/v1/photos", data=body, headers={**key, "Content-Type": content_type, **headers})

    return send


@pytest.mark.parametrize(
    "content_type", ["image/jpeg", "application/x-www-form-urlencoded", "text/plain", "multipart/mixed", ""]
)
def test_raw_bytes_are_taken_whatever_type_they_claim(post: Post, content_type: str) -> None:
    answer = post(jpeg(), content_type)
    assert (answer.status, answer.json["media_type"]) == (202, "image/jpeg")
    assert answer.json["size_bytes"] == len(jpeg())


@pytest.mark.parametrize(
    "parts",
    [
        [FILE],
        [FILE, ("album", None, b"summer")],
        [("album", None, b"summer"), FILE],
        [("album", None, b"x" * 900_000), FILE],
        [("thumbnail", "a.txt", b"no picture at all"), FILE],
        [("", "", b""), FILE],
        [("file", None, jpeg())],
        [("file", "", jpeg())],
    ],
    ids=[
        "alone",
        "first",
        "last",
        "behind a giant field",
        "beside a text file",
        "no name",
        "-",
        "empty name",
    ],
)
def test_the_part_named_file_is_the_photo(post: Post, parts: list[tuple[str, str | None, bytes]]) -> None:
    answer = post(*multipart(*parts))
    assert answer.status == 202, answer.body
    assert answer.json["size_bytes"] == len(jpeg())
    names = {name: filename or None for name, filename, _ in parts}
    assert answer.json["filename"] == names["file"]


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], "one-file-expected"),
        ([("photo", "a.jpg", jpeg())], "one-file-expected"),
        ([FILE, ("file", "b.jpg", jpeg(seed=1))], "one-file-expected"),
        ([("file", "a.jpg", b"")], "empty-upload"),
        ([(f"field{number}", None, b"x") for number in range(60)], "malformed-multipart"),
        ([("x" * 400_000, None, b"x")], "malformed-multipart"),
    ],
    ids=["none", "another name", "two", "an empty one", "too many parts", "an endless part head"],
)
def test_a_form_without_just_one_file_is_refused_and_nothing_kept(
    post: Post, stored_files: Files, parts: list[tuple[str, str | None, bytes]], code: str
) -> None:
    answer = post(*multipart(*parts))
    assert (answer.status, answer.json["code"]) == (400, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert stored_files() == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\r\n", "multipart/form-data; boundary=b"),
        (jpeg(), "multipart/form-data"),
        (jpeg(), "multipart/form-data; boundary=b"),
        (b"--b\r\n\r\nno head\r\n--b--\r\n", "multipart/form-data; boundary=b"),
        (multipart(FILE)[0][:-30], multipart(FILE)[1]),
        (multipart(FILE)[0], "multipart/form-data; boundary=\xe4"),
        (b"x" * 300_000, "multipart/form-data; boundary=b"),
    ],
)
def test_a_malformed_form_is_a_400_and_nothing_is_kept(
    post: Post, stored_files: Files, body: bytes, content_type: str
) -> None:
    answer = post(body, content_type)
    assert (answer.status, answer.json["code"]) == (400, "malformed-multipart")
    assert stored_files() == []


@examples(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 700), inserted=st.binary(max_size=40), at=st.integers(0, 700))
@example(cut=0, inserted=b"\r\n--" + b"a-boundary-of-forty-characters-or-so" + b"\r\n\r\n", at=300)
def test_no_mangled_form_is_an_internal_error(post: Post, cut: int, inserted: bytes, at: int) -> None:
    body, content_type = multipart(("note", None, b"text"), ("file", "a.jpg", jpeg(8, 8)), ("end", None, b""))
    mangled = body[:at] + inserted + body[at + cut :]
    assert post(mangled, content_type).status in (200, 202, 400, 415)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "empty-upload"),
        (b"\n", 415, "not-an-image"),
        (b"Just a text file.\n" * 1000, 415, "not-an-image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415, "unsupported-format"),
        (b"%PDF-1.7\n" + b"x" * 10_000, 415, "unsupported-format"),
    ],
)
def test_what_is_no_photo_is_refused_at_once_and_nothing_kept(
    post: Post, stored_files: Files, body: bytes, status: int, code: str
) -> None:
    for answer in (post(body), post(*multipart(("file", "a.jpg", body)))):
        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert stored_files() == []


class TestLimit:
    """`max_upload_bytes` counts the file, whatever is around it."""

    LIMIT = 100_000

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """The usual settings with a small limit."""
        return replace(settings, max_upload_bytes=self.LIMIT)

    @pytest.mark.parametrize("form", [False, True])
    def test_a_file_of_just_the_limit_is_taken(self, post: Post, form: bool) -> None:
        data = jpeg().ljust(self.LIMIT, b"\0")
        answer = post(*multipart(("file", "a.jpg", data))) if form else post(data)
        assert answer.status == 202

    @pytest.mark.parametrize("form", [False, True])
    def test_a_byte_more_is_413_and_nothing_is_kept(
        self, post: Post, stored_files: Files, form: bool
    ) -> None:
        data = jpeg().ljust(self.LIMIT + 1, b"\0")
        answer = post(*multipart(("file", "a.jpg", data))) if form else post(data)
        assert (answer.status, answer.json["code"]) == (413, "upload-too-large")
        assert f"{self.LIMIT:,}" in answer.json["detail"]
        assert stored_files() == []

    def test_a_body_without_a_length_ends_at_the_limit(
        self, client: Client, auth: Auth, stored_files: Files
    ) -> None:
        endless = io.BufferedReader(_Endless())
        answer = client.post(
            "/v1/photos",
            headers=auth("anna"),
            environ_overrides={"wsgi.input": endless, "wsgi.input_terminated": True},
        )
        assert (answer.status, answer.json["code"]) == (413, "upload-too-large")
        assert stored_files() == []


class TestBacklog:
    """So many tasks may wait, and no more."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """The usual settings with a tiny backlog."""
        return replace(settings, backlog_limit=2)

    @pytest.mark.parametrize("path", ["/v1/photos", "/v1/photos/batch"])
    def test_above_it_uploads_are_refused_before_their_body_is_read(
        self, client: Client, auth: Auth, stored_files: Files, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tasks.backlog._FRESH_S", 0.0)
        key = auth("anna")
        assert client.post("/v1/photos", data=jpeg(), headers=key).status == 202
        files = stored_files()
        unread = io.BytesIO(jpeg(seed=1))
        answer = client.post(path, input_stream=unread, headers={**key, "Content-Length": "9999"})
        assert (answer.status, answer.json["code"]) == (503, "temporary-reduced-capacity")
        assert 1 <= int(answer.headers["Retry-After"]) <= 3600
        assert unread.tell() == 0
        assert stored_files() == files


class _Endless(io.RawIOBase):
    """A JPEG that never ends."""

    def __init__(self) -> None:
        self._head: Iterator[bytes] = iter([jpeg()])

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        chunk = next(self._head, bytes(len(view)))[: len(view)]
        view[: len(chunk)] = chunk
        return len(chunk)


@pytest.mark.parametrize(
    ("header", "filename"),
    [
        ('attachment; filename="a b.jpg"', "a b.jpg"),
        (f"attachment; filename*=UTF-8''{quote('写真.jpg')}", "写真.jpg"),
        ('attachment; filename="写真.jpg"'.encode().decode("latin-1"), "写真.jpg"),
        ('attachment; filename="Fjörd.jpg"', "Fjörd.jpg"),
        ("attachment; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x.jpg", "aSet-Cookie: x.jpg"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ("attachment", None),
        ("", None),
        (";;;=", None),
    ],
)
def test_a_raw_uploads_name_is_its_content_dispositions(
    post: Post, header: str, filename: str | None
) -> None:
    assert post(jpeg(), **{"Content-Disposition": header}).json["filename"] == filename


def test_a_name_with_line_breaks_ends_up_in_no_header(post: Post, client: Client, auth: Auth) -> None:
    name = "a\r\nSet-Cookie: b=c.jpg"
    answer = post(jpeg(), **{"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"})
    original = client.get(f"/v1/photos/{answer.json['id']}/original", headers=auth("anna"))
    assert original.status == 200
    assert "Set-Cookie" not in original.headers
