"""Every sample picture against the right values that its manifest states."""

import pytest

from tests.imaging.corpus import CORPUS, Entry, entries, exif_checks, preview_checks

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no sample pictures at {CORPUS}")


def name_of(entry: Entry) -> str:
    return str(entry["file"])


@pytest.mark.parametrize("entry", entries(), ids=name_of)
def test_previews(entry: Entry) -> None:
    assert [check for check in preview_checks(entry) if check.verdict != "right"] == []


@pytest.mark.parametrize("entry", [e for e in entries() if "exif" in e], ids=name_of)
def test_metadata(entry: Entry) -> None:
    assert [check for check in exif_checks(entry) if check.verdict != "right"] == []
