"""Forms as bytes in any pieces: what is read from them, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import pytest

from api.errors import Problem
from api.multipart import Part, events

Read = list[tuple[str | None, str | None, bytes]]

DISPOSITION = b'Content-Disposition: form-data; name="file"; filename="a.jpg"'


def read(pieces: Iterable[bytes], boundary: str = "b", *, max_parts: int = 10) -> Read:
    """(field's name, file's name, data) of each part that came whole; no other may come."""
    found: Read = []
    part, data = None, b""
    for event in events(pieces, boundary, max_parts=max_parts):
        if isinstance(event, Part):
            assert part is None
            part, data = event, b""
        else:
            assert part is not None
            if event is not None:
                data += event
            else:
                found.append((part.name, part.filename, data))
                part = None
    assert part is None
    return found


def heads(form: bytes) -> list[Part]:
    """The head of each part."""
    return [event for event in events([form], "b", max_parts=10) if isinstance(event, Part)]


def form_of(head: bytes, data: bytes = b"data", boundary: bytes = b"b") -> bytes:
    """A form of one part."""
    return b"--" + boundary + b"\r\n" + head + b"\r\n\r\n" + data + b"\r\n--" + boundary + b"--\r\n"


def in_pieces(form: bytes, size: int) -> list[bytes]:
    """A form in pieces of a size."""
    return [form[at : at + size] for at in range(0, len(form), size)]


BOUNDARIES = ["b", "-", "--", "b b", "a'()+_,-./:=?", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "x" * 70]


def form_with(boundary: str) -> tuple[bytes, Read]:
    """A form whose data looks like its boundary wherever it may, and what is in it."""
    delimiter = b"\r\n--" + boundary.encode()
    almost = b"".join(delimiter[:size] for size in range(len(delimiter)))
    parts: Read = [
        ("note", None, b""),
        ("file", "a.jpg", almost + b"\r\n\r\n\n\r"),
        ("", "", b"\r\n"),
        ("file", None, delimiter[:-1]),
    ]
    form = b"preamble\r\n\r\n"
    for name, filename, data in parts:
        named = "" if filename is None else f'; filename="{filename}"'
        form += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
        form += data + b"\r\n"
    return form + f"--{boundary}--\r\nepilogue\r\n--{boundary}\r\nof any kind".encode(), parts


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_form_means_the_same_however_it_is_cut(boundary: str) -> None:
    form, parts = form_with(boundary)
    assert read([form], boundary) == parts
    for at in range(1, len(form)):
        assert read([form[:at], form[at:]], boundary) == parts, form[:at]
    for size in range(1, 10):
        assert read(in_pieces(form, size), boundary) == parts


@pytest.mark.parametrize("boundary", ["b", "----WebKitFormBoundary7MA4YWxkTrZu0gW"])
def test_a_form_that_ends_before_its_last_boundary_is_never_taken_for_whole(boundary: str) -> None:
    form, parts = form_with(boundary)
    whole = form.index(f"--{boundary}--\r\nepilogue".encode()) + len(f"--{boundary}--")
    for end in range(whole):
        with pytest.raises(Problem, match="malformed"):
            read(in_pieces(form[:end], 50), boundary)
    assert read(in_pieces(form[:whole], 50), boundary) == parts


def test_data_is_handed_on_as_it_comes() -> None:
    form = form_of(DISPOSITION, b"first second")
    pieces = iter([form[: form.index(b" second")], form[form.index(b" second") :]])
    came = events(pieces, "b", max_parts=1)
    assert isinstance(next(came), Part)
    assert next(came) == b"first"
    assert len(list(pieces)) == 1


def test_an_epilogue_of_any_length_is_read_and_passed_over() -> None:
    pieces = iter([form_of(DISPOSITION), *[b"x" * 65_536] * 20])
    assert read(pieces) == [("file", "a.jpg", b"data")]
    assert list(pieces) == []


def test_a_form_may_have_so_many_parts_and_no_more() -> None:
    form = (b"--b\r\n" + DISPOSITION + b"\r\n\r\nx\r\n") * 10 + b"--b--"
    assert len(read([form], max_parts=10)) == 10
    with pytest.raises(Problem, match="malformed"):
        read([form], max_parts=9)


def test_the_fields_of_a_head_are_all_there_each_in_its_own_charset() -> None:
    lines = [
        b"X-Latin-1: Fj\xf6rd",
        b'content-disposition:form-data; name=file; filename="Fj\xc3\xb6rd.jpg"',
        b"Repr-Digest: sha-256=:AA==:  ",
        b"Repr-Digest:\tsha-512=:AA==:",
        b"X-Folded: a\r\n\tb",
        b"X-Empty:",
    ]
    [part] = heads(form_of(b"\r\n".join(lines)))
    assert (part.name, part.filename) == ("file", "Fjörd.jpg")
    assert part.headers["X-Latin-1"] == "Fjörd"
    assert part.headers.getlist("repr-digest") == ["sha-256=:AA==:", "sha-512=:AA==:"]
    assert part.headers["X-Folded"] == "a b"
    assert part.headers["X-Empty"] == ""


def test_a_head_may_be_long() -> None:
    name = "x" * 10_000 + ".jpg"
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'.encode()
    [part] = heads(form_of(disposition + b"\r\nX: y" * 31))
    assert part.filename == name


def _endless(unit: bytes) -> Iterator[bytes]:
    """A form whose first head never ends."""
    yield b"--b\r\n" + DISPOSITION
    for number in count(1):
        assert number <= 100, "it is still being read"
        yield unit


@pytest.mark.parametrize("unit", [b"x" * 1000, b"\r\nX: y", b"\r\n folded" + b"x" * 1000])
def test_a_head_without_an_end_is_refused_and_not_gathered(unit: bytes) -> None:
    with pytest.raises(Problem, match="malformed"):
        read(_endless(unit))


@pytest.mark.parametrize(
    "form",
    [
        form_of(DISPOSITION).replace(b"\r\n", b"\n"),
        form_of(DISPOSITION).replace(b"\r\n", b"\r"),
        form_of(DISPOSITION + b"\nX: y"),
        form_of(DISPOSITION + b"\rX: y"),
        form_of(DISPOSITION + b"\r\nno field"),
        form_of(DISPOSITION + b"\r\n: no name"),
        form_of(b"Content-Type: image/jpeg"),
        form_of(b'Content-Disposition: attachment; name="file"'),
        form_of(DISPOSITION, b"data\r\n--bad"),
        b"before " + form_of(DISPOSITION),
    ],
)
def test_a_form_that_is_not_as_rfc_7578_says_is_refused(form: bytes) -> None:
    with pytest.raises(Problem, match="malformed"):
        read([form])


@pytest.mark.parametrize("length", [b"3", b"5", b"-4", b"four"])
def test_a_part_that_is_not_as_long_as_its_head_says_is_refused(length: bytes) -> None:
    assert read([form_of(DISPOSITION + b"\r\nContent-Length: 4")]) == [("file", "a.jpg", b"data")]
    with pytest.raises(Problem, match="malformed"):
        read([form_of(DISPOSITION + b"\r\nContent-Length: " + length)])
