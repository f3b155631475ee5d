"""Given a picture, when it is scaled by either resizer, then it looks as with the best one."""

from __future__ import annotations

import io
import math
import platform
import statistics
import sys
from pathlib import Path

import PIL
import pytest
from PIL import Image, ImageChops, ImageFilter, ImageStat

from imaging import resize as module
from imaging.preview import render
from imaging.resize import fit, resize
from imaging.results import PREVIEW_SIZES
from tests.pictures import picture

# As pyproject.toml has it: there it must be installed, or these tests fail.
HAS_WHEEL = (sys.platform, platform.machine()) == ("linux", "x86_64")
SIZES = ((4000, 3000), (3000, 4000), (1999, 1333), (2050, 1400), (641, 480))


def psnr_db(one: Image.Image, other: Image.Image) -> float:
    """Peak signal-to-noise ratio of two pictures' luma."""
    difference = ImageChops.difference(one.convert("L"), other.convert("L"))
    mean_square = ImageStat.Stat(difference).sum2[0] / (one.width * one.height)
    return 10 * math.log10(255**2 / mean_square) if mean_square else math.inf


def detailed(width: int, height: int, *, seed: int = 0) -> Image.Image:
    """A picture with edges, texture and smooth parts."""
    noise = Image.effect_noise((width, height), 40).filter(ImageFilter.GaussianBlur(1.5))
    texture = Image.merge("RGB", (noise, noise, noise))
    mask = picture(width, height, seed=seed + 1).convert("L")
    return Image.composite(picture(width, height, seed=seed), texture, mask)


@pytest.fixture(params=["fast", "pillow"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both resizers in turn."""
    if request.param == "pillow":
        monkeypatch.setattr(module, "_IS_FAST", False)
    elif not HAS_WHEEL:
        pytest.skip("there are wheels for x86-64 Linux alone")
    return str(request.param)


@pytest.mark.skipif(not HAS_WHEEL, reason="there are wheels for x86-64 Linux alone")
def test_the_fast_one_is_used_where_it_can_be() -> None:
    assert module._IS_FAST, f"Pillow {PIL.__version__}: run these tests with it, then name it"


@pytest.mark.parametrize("size", SIZES)
def test_it_is_as_good_as_lanczos_of_the_whole(engine: str, size: tuple[int, int]) -> None:
    original = detailed(*size)
    found = []
    for edge_px in (2048, 1280, 320):
        target = fit(size, edge_px)
        reference = original.resize(target, Image.Resampling.LANCZOS)
        found.append(psnr_db(resize(original, target), reference))
    assert min(found) > 40
    assert statistics.median(found) > 45


def test_previews_of_a_cascade_are_as_good_before_they_are_encoded(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imaging.preview._QUALITY", 100)
    path = tmp_path / "photo.jpg"
    found = []
    for seed, size in enumerate(((6000, 4000), (4000, 3000), (1632, 1224))):
        detailed(*size, seed=seed).save(path, quality=95, subsampling="4:4:4")
        with Image.open(path) as original:
            original.load()
            for preview in render(path, max_pixels=10**8).previews:
                shown = Image.open(io.BytesIO(preview.data))
                found.append(psnr_db(shown, original.resize(shown.size, Image.Resampling.LANCZOS)))
    assert len(found) == 3 * len(PREVIEW_SIZES)
    assert min(found) > 40, found
    assert statistics.median(found) > 45, found


@pytest.mark.parametrize("between_pixels", [module._BETWEEN_PIXELS, 20_000, 1])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "CMYK", "LAB"])
def test_both_give_the_same_in_every_mode(
    mode: str, between_pixels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BETWEEN_PIXELS", between_pixels)
    source = detailed(900, 700).convert("RGB" if mode == "LAB" else mode)
    if mode == "RGBA":
        source.putalpha(picture(900, 700, seed=9).convert("L"))
    if mode == "LAB":
        source = Image.merge("LAB", source.split())
    box = (3.0, 5.0, 893.5, 690.25)
    one = resize(source, (300, 230), box)
    monkeypatch.setattr(module, "_IS_FAST", False)
    other = resize(source, (300, 230), box)
    assert (one.mode, one.size) == (other.mode, other.size) == (mode, (300, 230))
    on_white = [
        Image.alpha_composite(Image.new("RGBA", each.size, "white"), each) if mode == "RGBA" else each
        for each in (one, other)
    ]
    for left, right in zip(on_white[0].split(), on_white[1].split(), strict=True):
        assert psnr_db(left, right) > 38


def test_nothing_is_done_where_nothing_has_to_change(engine: str) -> None:
    source = picture(64, 48)
    assert resize(source, (64, 48)) is source
    assert resize(source, (64, 48), (0, 0, 64, 48)) is source


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (3, 2)])
def test_tiny_and_thin_pictures_are_scaled_too(engine: str, size: tuple[int, int]) -> None:
    target = fit(size, 320)
    assert resize(picture(*size), target).size == target
