"""Given a picture of a wide gamut, when it is shown in sRGB by tables, then it is as by LittleCMS."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageChops, ImageCms

from imaging import cicp, gamut
from imaging.colour import to_srgb
from imaging.gamut import Convert, by_tables
from tests.imaging.test_colour import ADOBE_RGB as ADOBE_RGB_PRIMARIES
from tests.imaging.test_colour import D50, PROPHOTO, SPACES, gamma
from tests.imaging.test_colour import DISPLAY_P3 as DISPLAY_P3_PRIMARIES
from tests.pictures import picture

DISPLAY_P3, ADOBE_RGB = SPACES["Display P3"][0], SPACES["Adobe RGB"][0]
FITTING = pytest.mark.parametrize("icc", [DISPLAY_P3, ADOBE_RGB], ids=["Display P3", "Adobe RGB"])


def by_littlecms(icc: bytes) -> Convert:
    """What the tables are held against."""
    profile, srgb = ImageCms.ImageCmsProfile(io.BytesIO(icc)), ImageCms.createProfile("sRGB")
    transform = ImageCms.buildTransform(profile, srgb, "RGB", "RGB")
    return lambda picture: ImageCms.applyTransform(picture, transform) or picture


def farthest(one: Image.Image, other: Image.Image) -> int:
    """By how many levels two pictures differ where they differ most."""
    return max(ImageChops.difference(one, other).tobytes())


@FITTING
def test_they_give_what_littlecms_does(icc: bytes) -> None:
    reference = by_littlecms(icc)
    tables = by_tables(reference)
    assert tables is not None
    noise = Image.merge("RGB", [Image.effect_noise((1021, 517), 250) for _ in "RGB"])
    for source in (noise, picture(640, 480), Image.new("RGB", (1, 1), (255, 0, 255))):
        before = source.tobytes()
        assert farthest(tables(source), reference(source)) <= 1
        assert source.tobytes() == before


@FITTING
def test_every_grey_stays_grey(icc: bytes) -> None:
    tables = by_tables(by_littlecms(icc))
    assert tables is not None
    red, green, blue = tables(Image.merge("RGB", [Image.linear_gradient("L")] * 3)).split()
    assert max(farthest(red, green), farthest(green, blue)) <= 1


@FITTING
def test_previews_are_made_with_them(icc: bytes) -> None:
    source = picture(640, 480)
    shown = to_srgb(source, icc)
    assert farthest(shown, source) > 10
    used = by_tables(by_littlecms(icc))
    assert used is not None
    assert shown.tobytes() == used(source).tobytes()


def bumped(value: float) -> float:
    """As sRGB's curve, but between two levels far apart."""
    return cicp.srgb(value) + 0.1 * max(0.0, 1 - abs(value * 255 - 23) / 7)


@pytest.mark.parametrize(
    "icc",
    [
        cicp.icc(ADOBE_RGB_PRIMARIES, gamma(2.21)),
        cicp.icc(DISPLAY_P3_PRIMARIES, bumped),
        SPACES["ProPhoto RGB"][0],
        cicp.icc(PROPHOTO, cicp.srgb, D50),
        cicp.profile(9, 1),  # BT.2020
        cicp.profile(12, 8),  # Display P3's primaries, but linear
        cicp.icc(DISPLAY_P3_PRIMARIES, gamma(1.8)),
        cicp.icc(DISPLAY_P3_PRIMARIES, gamma(2.2), D50),
    ],
)
def test_other_spaces_are_left_to_littlecms(icc: bytes) -> None:
    assert by_tables(by_littlecms(icc)) is None
    assert to_srgb(picture(64, 48), icc).tobytes() == by_littlecms(icc)(picture(64, 48)).tobytes()


@FITTING
def test_without_numpy_littlecms_does_it(icc: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gamut, "numpy", None)
    assert by_tables(by_littlecms(icc)) is None
