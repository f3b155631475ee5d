"""The sample pictures beside the project, and whether what we make of one is what its manifest says."""

import io
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image, ImageStat

from imaging.errors import ImagingError
from imaging.exif import read_exif
from imaging.preview import render
from imaging.results import Rendering

CORPUS = Path(os.environ.get("SAFELIGHT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
MAX_PIXELS = 250_000_000
# half the side of the square around a probe, as part of the picture's
_PROBE = 0.06

Entry = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One value of the manifest, and what we have there."""

    name: str
    got: object
    want: object
    verdict: Literal["right", "wrong", "missing"]


def entries() -> list[Entry]:
    manifest = CORPUS / "manifest.json"
    return json.loads(manifest.read_text())["files"] if manifest.exists() else []


def preview_checks(entry: Entry) -> Iterator[Check]:
    """Compare the previews of a sample: whether there are any, the photo's size, colours."""
    try:
        rendering = render(CORPUS / entry["file"], max_pixels=MAX_PIXELS)
    except ImagingError as error:
        is_right = entry["expect"] != "accept" and not error.transient
        yield Check("refusal", repr(error), entry["expect"], "right" if is_right else "missing")
        return
    yield _judged("refusal", None, entry["expect"], entry["expect"] != "refuse")
    yield from _shown_checks(entry, rendering)


def _shown_checks(entry: Entry, rendering: Rendering) -> Iterator[Check]:
    for side in ("width", "height"):
        got = getattr(rendering, side)
        if side in entry:
            yield _judged(side, got, entry[side], got == entry[side])
        if f"{side}_min" in entry:
            yield _judged(side, got, entry[f"{side}_min"], got >= entry[f"{side}_min"])
    picture = Image.open(io.BytesIO(rendering.previews[-1].data))
    for probe in entry.get("colours", []):
        colour = _mean_colour(picture, probe["x"], probe["y"])
        off = max(abs(a - b) for a, b in zip(colour, probe["rgb"], strict=True))
        yield _judged("colour", colour, probe, off <= probe["tol"])
    for probe in entry.get("transparent_at", []):
        colour = _mean_colour(picture, probe["x"], probe["y"], part=0.01)
        yield _judged("white", colour, probe, min(colour) > 245)


def exif_checks(entry: Entry) -> Iterator[Check]:
    """Compare the metadata of a sample, field by field; one that may be refused has none to compare."""
    choices = {name: [value] for name, value in entry.get("exif", {}).items()} | entry.get("exif_any_of", {})
    try:
        metadata = read_exif(CORPUS / entry["file"])
    except ImagingError as error:
        if choices and entry["expect"] == "accept":
            yield Check("refusal", repr(error), entry["expect"], "missing")
        return
    json.dumps(metadata.raw, allow_nan=False)
    for name, wanted in choices.items():
        got = metadata.fields[name]
        is_right = any(_same(name, got, want) for want in wanted)
        verdict: Literal["wrong", "missing"] = "missing" if got is None else "wrong"
        yield Check(name, got, wanted, "right" if is_right else verdict)


def _judged(name: str, got: object, want: object, is_right: bool) -> Check:
    return Check(name, got, want, "right" if is_right else "wrong")


def _mean_colour(picture: Image.Image, x: float, y: float, part: float = _PROBE) -> list[float]:
    width, height = picture.size
    left, top = max(0, round((x - part) * width)), max(0, round((y - part) * height))
    right, bottom = round((x + part) * width), round((y + part) * height)
    return ImageStat.Stat(picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))).mean


def _same(name: str, got: object, want: object) -> bool:
    if isinstance(got, int | float) and isinstance(want, int | float):
        is_place = name in ("latitude", "longitude")
        return math.isclose(got, want, rel_tol=0 if is_place else 1e-3, abs_tol=1e-5 if is_place else 0)
    return got == want
