"""Every sample picture against the right values that its manifest states."""

from pathlib import Path

import pytest

from imaging.errors import TruncatedImage
from imaging.formats import HEAD_BYTES, sniff
from imaging.preview import render
from tests.imaging.corpus import CORPUS, MAX_PIXELS, Entry, entries, exif_checks, preview_checks

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no sample pictures at {CORPUS}")


def name_of(entry: Entry) -> str:
    return str(entry["file"])


@pytest.mark.parametrize("entry", entries(), ids=name_of)
def test_previews(entry: Entry) -> None:
    assert [check for check in preview_checks(entry) if check.verdict != "right"] == []


@pytest.mark.parametrize("entry", [e for e in entries() if e["expect"] != "refuse"], ids=name_of)
def test_media_types(entry: Entry) -> None:
    assert sniff((CORPUS / entry["file"]).read_bytes()[:HEAD_BYTES]) == entry["media_type"]


@pytest.mark.parametrize("entry", [e for e in entries() if "exif" in e], ids=name_of)
def test_metadata(entry: Entry) -> None:
    assert [check for check in exif_checks(entry) if check.verdict != "right"] == []


def test_of_a_heic_cut_late_the_whole_tiles_are_shown(tmp_path: Path) -> None:
    # nothing at hand writes a HEIC of tiles, as phones do
    data = (CORPUS / "heic_iphone_11_pro.heic").read_bytes()
    path = tmp_path / "photo"
    path.write_bytes(data[: len(data) * 6 // 10])
    rendering = render(path, max_pixels=MAX_PIXELS)
    assert (rendering.width, rendering.height, rendering.warnings) == (3024, 4032, ("truncated",))
    path.write_bytes(data[: len(data) * 9 // 100])
    with pytest.raises(TruncatedImage):
        render(path, max_pixels=MAX_PIXELS)
