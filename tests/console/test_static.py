"""The console's files: nothing that could turn a text into a program, nothing from anywhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "console"
FILES = sorted(path for path in ROOM.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg"))
# Markup from text, code from text, styles and scripts that the policy would refuse anyway.
FORBIDDEN = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|srcdoc|eval)\b"
    r"|document\.write|new Function|javascript:|setAttribute\(\s*[\"']style|cssText|@import"
)
IN_MARKUP = re.compile(r"<style|\sstyle=|\son[a-z]+=")
# A namespace is a name; the map is opened when someone asks for it; the rest stands in comments.
ELSEWHERE = re.compile(r"(?<![\w:])(?:https?:)?//(?=[a-z0-9.-]+\.[a-z])")
ALLOWED = (
    "http://www.w3.org/2000/svg",
    "https://www.openstreetmap.org/",
    "(https://evanw.github.io/thumbhash/)",
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_makes_markup_or_code_of_text_or_points_elsewhere(path: Path) -> None:
    text = path.read_text()
    assert not FORBIDDEN.search(text)
    if path.suffix == ".html":
        assert not IN_MARKUP.search(text)
        assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    assert not ELSEWHERE.search(text), ELSEWHERE.search(text)


def test_the_map_is_named_in_one_file_alone() -> None:
    naming = [path.name for path in FILES if "openstreetmap.org" in path.read_text()]
    assert naming == ["exif.js"]


def test_every_error_type_has_a_plain_sentence() -> None:
    from photos.kinds import ERROR_TYPES

    told = re.findall(r'^  "([a-z-]+)": ', (ROOM / "static" / "errors.js").read_text(), re.MULTILINE)
    assert set(ERROR_TYPES) <= set(told)


def test_the_page_hears_every_event_that_is_documented() -> None:
    heard = set(re.findall(r'"((?:photo|task)-[a-z]+)"', (ROOM / "static" / "events.js").read_text()))
    page = (ROOM.parent / "docs" / "events.md").read_text()
    named = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`((?:photo|task)-[a-z]+)`", line.split("|")[1])
    }
    assert heard == named
