"""Every sample picture against the right values that its manifest states."""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageStat

from imaging.errors import ImagingError
from imaging.exif import Metadata, read_exif
from imaging.preview import render

CORPUS = Path(os.environ.get("SAFELIGHT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
MAX_PIXELS = 250_000_000
# half the side of the square around a probe, as part of the picture's
PROBE = 0.06

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no sample pictures at {CORPUS}")


def entries() -> list[dict[str, Any]]:
    manifest = CORPUS / "manifest.json"
    return json.loads(manifest.read_text())["files"] if manifest.exists() else []


def name_of(entry: dict[str, Any]) -> str:
    return str(entry["file"])


@pytest.mark.parametrize("entry", entries(), ids=name_of)
def test_previews(entry: dict[str, Any]) -> None:
    refusal, rendering = None, None
    try:
        rendering = render(CORPUS / entry["file"], max_pixels=MAX_PIXELS)
    except ImagingError as error:
        refusal = error
    if rendering is None:
        assert entry["expect"] != "accept", f"refused: {refusal}"
        assert refusal is not None
        assert not refusal.transient
        return
    assert entry["expect"] != "refuse"
    for side in ("width", "height"):
        assert getattr(rendering, side) == entry.get(side, getattr(rendering, side))
        assert getattr(rendering, side) >= entry.get(f"{side}_min", 0)
    picture = Image.open(io.BytesIO(rendering.previews[-1].data))
    for probe in entry.get("colours", []):
        got = mean_colour(picture, probe["x"], probe["y"])
        off = [abs(a - b) for a, b in zip(got, probe["rgb"], strict=True)]
        assert max(off) <= probe["tol"], f"{got} at {probe}"
    for probe in entry.get("transparent_at", []):
        assert min(mean_colour(picture, probe["x"], probe["y"], part=0.01)) > 245


def mean_colour(picture: Image.Image, x: float, y: float, part: float = PROBE) -> list[float]:
    width, height = picture.size
    left, top = max(0, round((x - part) * width)), max(0, round((y - part) * height))
    right, bottom = round((x + part) * width), round((y + part) * height)
    return ImageStat.Stat(picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))).mean


@pytest.mark.parametrize("entry", [e for e in entries() if "exif" in e], ids=name_of)
def test_metadata(entry: dict[str, Any]) -> None:
    if entry["expect"] == "either":
        with contextlib.suppress(ImagingError):
            assert_right(entry, read_exif(CORPUS / entry["file"]))
    else:
        assert_right(entry, read_exif(CORPUS / entry["file"]))


def assert_right(entry: dict[str, Any], metadata: Metadata) -> None:
    json.dumps(metadata.raw, allow_nan=False)
    found = metadata.fields
    wrong = {name: found[name] for name, want in entry["exif"].items() if not same(name, found[name], want)}
    for name, choices in entry.get("exif_any_of", {}).items():
        if not any(same(name, found[name], want) for want in choices):
            wrong[name] = found[name]
    assert wrong == {}


def same(name: str, got: object, want: object) -> bool:
    if isinstance(got, int | float) and isinstance(want, int | float):
        return got == pytest.approx(want, rel=1e-3, abs=1e-5 if name in ("latitude", "longitude") else 0)
    return got == want
