"""Given memory that a picture shares, when either is used, then nothing is lost, and nothing else shows."""

from __future__ import annotations

import gc
import sys

import pytest
from PIL import Image

from imaging.pixels import shared

numpy = pytest.importorskip("numpy", reason="it comes where TurboJPEG has a wheel")


def memory(mode: str) -> object:
    """Of 5 x 3 pixels, each byte another."""
    channels = () if mode == "L" else (4,)
    return numpy.arange(15 * (channels or (1,))[0], dtype=numpy.uint8).reshape(3, 5, *channels)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBX", "RGBA", "CMYK"])
def test_a_picture_is_what_the_memory_holds(mode: str) -> None:
    pixels = memory(mode)
    picture = shared(pixels, mode)
    assert (picture.mode, picture.size) == (mode, (5, 3))
    if mode == "RGB":
        assert picture.tobytes() == pixels[..., :3].tobytes()  # type: ignore[index]
    else:
        assert picture.tobytes() == pixels.tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_it_keeps_the_memory_alive_and_no_longer_than_it_lives(mode: str) -> None:
    pixels = memory(mode)
    before = sys.getrefcount(pixels)
    picture = shared(pixels, mode)
    gc.collect()
    assert sys.getrefcount(pixels) > before
    del picture
    gc.collect()
    assert sys.getrefcount(pixels) == before


def test_who_writes_into_the_picture_has_a_copy() -> None:
    pixels = memory("RGB")
    picture = shared(pixels, "RGB")
    before = pixels.tobytes()  # type: ignore[attr-defined]
    picture.paste(Image.new("RGB", (2, 2), "white"))
    picture.putpixel((4, 2), (1, 1, 1))
    assert pixels.tobytes() == before  # type: ignore[attr-defined]
    assert picture.getpixel((4, 2)) == (1, 1, 1)
