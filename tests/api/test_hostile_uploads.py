"""Files and names that are meant to do harm: refused, or kept as bytes that nobody's browser will run."""

from __future__ import annotations

import gzip
import io
import json
import logging
import zipfile
from collections.abc import Callable
from urllib.parse import quote

import pytest

from observability import logs
from tests.http import Answer, Client, multipart
from tests.pictures import jpeg

Files = Callable[[], list[str]]
Post = Callable[..., Answer]

HTML = b"<!doctype html><script>alert(document.domain)</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
PHP = b"<?php system($_GET['c']); ?>"
GIF_AND_SCRIPT = b"GIF89a/*\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00*/=1;alert(document.domain)//;"


def jpeg_and_zip() -> bytes:
    """Both a JPEG and, read from its end, a ZIP archive (the way of a GIFAR)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("index.html", HTML)
    return jpeg() + out.getvalue()


@pytest.fixture
def post(client: Client, key: dict[str, str]) -> Post:
    """Uploads a file in a form, under a name."""

    def send(data: bytes, filename: str = "holiday.jpg") -> Answer:
        body, content_type = multipart(("file", filename, data))
        return client.post("/v1/photos", data=body, headers={**key, "Content-Type": content_type})

    return send


@pytest.mark.parametrize(
    "data", [HTML, b" \n" + HTML.upper(), SVG, b"<?xml version='1.0'?>" + SVG, PHP, b"#!/bin/sh\n"]
)
def test_a_document_or_program_named_jpg_is_refused_and_not_kept(
    post: Post, stored_files: Files, data: bytes
) -> None:
    answer = post(data)
    assert answer.status == 415
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert stored_files() == []


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (GIF_AND_SCRIPT, "image/gif"),
        (jpeg_and_zip(), "image/jpeg"),
        (jpeg() + PHP, "image/jpeg"),
        (jpeg() + HTML, "image/jpeg"),
    ],
)
@pytest.mark.parametrize("filename", ["a.jpg", "a.html", "a.php", "a.svg"])
def test_a_picture_that_is_something_else_too_is_given_out_as_a_picture_to_be_saved(
    post: Post, client: Client, key: dict[str, str], data: bytes, media_type: str, filename: str
) -> None:
    answer = post(data, filename)
    assert answer.status == 202
    original = client.get(f"{answer.headers['Location']}/original", headers=key)
    assert original.body == data
    assert original.headers["Content-Type"] == media_type
    assert original.headers["X-Content-Type-Options"] == "nosniff"
    assert original.headers["Content-Disposition"].startswith("attachment;")
    assert original.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize(
    "encoding", ["gzip", "GZIP", "br", "deflate", "zstd", "gzip, gzip", "identity, gzip"]
)
@pytest.mark.parametrize("path", ["/v1/photos", "/v1/photos/batch"])
def test_a_compressed_body_is_never_expanded(
    client: Client, key: dict[str, str], stored_files: Files, encoding: str, path: str
) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    answer = client.post(path, data=bomb, headers={**key, "Content-Encoding": encoding})
    assert (answer.status, answer.json["code"]) == (415, "unsupported-content-encoding")
    assert answer.headers["Accept-Encoding"] == "identity"
    assert stored_files() == []


def test_identity_is_no_encoding(client: Client, key: dict[str, str]) -> None:
    headers = {**key, "Content-Encoding": "identity"}
    assert client.post("/v1/photos", data=jpeg(), headers=headers).status == 202


def test_a_gzip_file_is_no_photo(post: Post, stored_files: Files) -> None:
    assert post(gzip.compress(b"\0" * 10_000_000)).json["code"] == "unsupported-format"
    assert stored_files() == []


@pytest.mark.parametrize("name", ["field", "file"])
@pytest.mark.parametrize("path", ["/v1/photos", "/v1/photos/batch"])
def test_ten_thousand_parts_are_refused_after_a_few(
    client: Client, key: dict[str, str], name: str, path: str
) -> None:
    body, content_type = multipart(*[(name, "a.txt", b"x")] * 10_000)
    answer = client.post(path, data=body, headers={**key, "Content-Type": content_type})
    assert (answer.status, answer.json["code"]) in (
        (400, "malformed-multipart"),
        (400, "one-file-expected"),
    )


NAMES = [
    ("../../../etc/passwd", "passwd"),
    ("..\\..\\boot.ini", "boot.ini"),
    ("/etc/passwd", "passwd"),
    ("a\0.jpg", "a.jpg"),
    ("\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe", "gpj.exe"),
    ('a\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>".jpg', 'script>".jpg'),
    ("a\nX: y.jpg", "aX: y.jpg"),
    ('"; filename=evil.html; x="', '"; filename=evil.html; x="'),
    ("..", None),
    ("x" * 10_000 + ".jpg", "x" * 251 + ".jpg"),
    ("'; DROP TABLE photos; --.jpg", "'; DROP TABLE photos; --.jpg"),
]


@pytest.mark.parametrize(("name", "kept"), NAMES)
def test_a_hostile_name_is_tidied_and_breaks_neither_a_header_nor_a_log_line(
    client: Client, key: dict[str, str], name: str, kept: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    with caplog.at_level(logging.INFO):
        answer = client.post("/v1/photos", data=jpeg(), headers={**key, "Content-Disposition": disposition})
        original = client.get(f"{answer.headers['Location']}/original", headers=key)
    assert (answer.status, answer.json["filename"]) == (202, kept)
    value = original.headers["Content-Disposition"]
    assert value.startswith("attachment;")
    assert value.isascii()
    assert value.isprintable()
    assert original.headers["Content-Type"] == "image/jpeg"
    assert "X" not in original.headers
    lines = [logs.formatter("json").format(record) for record in caplog.records]
    assert len(lines) >= 2
    assert all("\n" not in line and json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        ('filename="Fjörd.jpg"'.encode(), "Fjörd.jpg"),
        ('filename="Fjörd.jpg"'.encode("latin-1"), "Fjörd.jpg"),
        ('filename="写真.jpg"'.encode("shift-jis"), "\x8eÊ\x90^.jpg".replace("\x8e", "").replace("\x90", "")),
        (b'filename="\xff\xfe.jpg"', "ÿþ.jpg"),
        (b"filename=plain.jpg; filename*=UTF-8''Fj%C3%B6rd.jpg", "Fjörd.jpg"),
        (b"filename*=UTF-8''Fj%C3%B6rd.jpg; filename=\"plain.jpg\"", "Fjörd.jpg"),
        (b"filename*=iso-8859-1''Fj%F6rd.jpg", "Fjörd.jpg"),
        (b'filename="a;b \\" c.jpg"; filename*=UTF-8\'\'x.jpg', "x.jpg"),
        (b'filename="../a.jpg"', "a.jpg"),
        (b'filename="a\x00b.jpg"', "ab.jpg"),
    ],
)
def test_a_name_in_any_bytes_is_taken(client: Client, key: dict[str, str], head: bytes, kept: str) -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; '
        + head
        + b"\r\n\r\n"
        + jpeg()
        + b"\r\n--b--\r\n"
    )
    for path in ("/v1/photos", "/v1/photos/batch"):
        headers = {**key, "Content-Type": "multipart/form-data; boundary=b"}
        answer = client.post(path, data=body, headers=headers)
        assert answer.status in (202, 207), answer.body
        photo = answer.json if path == "/v1/photos" else answer.json["results"][0]["photo"]
        assert photo["filename"] == kept
