"""File names as they are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.attachment import attachment
from photos.filenames import MAX_CHARS, tidy


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a.jpg", "a.jpg"),
        (
            "Screenshot 10.00.00\N{NARROW NO-BREAK SPACE}AM.png",
            "Screenshot 10.00.00\N{NARROW NO-BREAK SPACE}AM.png",
        ),
        ("写真　一.jpg", "写真　一.jpg"),
        ("👩\N{ZERO WIDTH JOINER}👧.jpg", "👩\N{ZERO WIDTH JOINER}👧.jpg"),
        ("../../etc/passwd", "passwd"),
        ("C:\\fakepath\\a.jpg", "a.jpg"),
        ("a\r\nSet-Cookie: b", "aSet-Cookie: b"),
        ("a\0b\x1b[31m\x7f\x9b.jpg", "ab[31m.jpg"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe", "gpj.exe"),
        ("a\udcffb.jpg", "ab.jpg"),
        ("a\N{LINE SEPARATOR}b", "ab"),
        ("  a.jpg ", "a.jpg"),
        ("", None),
        (None, None),
        ("..", None),
        ("a/", None),
        ("\n", None),
        ("x" * 300 + ".jpeg", "x" * 250 + ".jpeg"),
        ("x" * 300, "x" * 255),
        ("x." + "y" * 300, "x." + "y" * 253),
    ],
)
def test_a_name_keeps_what_is_readable_and_harmless(text: str | None, name: str | None) -> None:
    assert tidy(text) == name


@given(st.text(st.characters(codec=None), max_size=400))
def test_any_name_fits_in_postgres_and_in_a_header(text: str) -> None:
    name = tidy(text)
    if name is not None:
        assert 0 < len(name) <= MAX_CHARS
        assert "\0" not in name
        name.encode()
        value = attachment(name)
        assert value.isascii()
        assert value.isprintable()
