"""From Display P3 and Adobe RGB to sRGB by tables: less than half of LittleCMS's time, one level from it.

Both have blue where sRGB has it (and so Adobe RGB its red). So what becomes of red and green doesn't hang on
blue: one table of all their pairs holds both. Blue alone is the sum of what they and itself give of light.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageChops

from imaging.pixels import shared

if TYPE_CHECKING:
    from numpy.typing import NDArray
try:
    import numpy
except ImportError:  # no wheel for this machine
    numpy = None  # type: ignore[assignment]

Convert = Callable[[Image.Image], Image.Image]

# How many steps light has, from none to sRGB's brightest blue. Between two of the darkest levels are five.
_LIGHT = 16_383
# What red and green take away: less than a tenth of it.
_LEAST = -2_000
# So many rows at once, which stay in the processor's cache.
_ROWS = 64
_PROBED = 17


@dataclass(frozen=True)
class _Space:
    """A colour space by what it takes to get at sRGB's blue.

    Attributes:
        blue: how much of it, in light, comes of red, green and blue.
        light: from values, 0 to 1, to light, 0 to 1.
    """

    blue: tuple[float, float, float]
    light: Callable[[NDArray[Any]], NDArray[Any]]


def _srgb_light(values: NDArray[Any]) -> NDArray[Any]:
    """IEC 61966-2-1, 5.2."""
    return numpy.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _srgb_values(light: NDArray[Any]) -> NDArray[Any]:
    curved = 1.055 * numpy.maximum(light, 0) ** (1 / 2.4) - 0.055
    return numpy.where(light <= 0.0031308, 12.92 * light, curved)


_SPACES = (
    # Display P3, and Adobe RGB (1998), 4.3.5: their primaries and D65 by way of XYZ to sRGB's.
    _Space((-0.0196376, -0.0786361, 1.0982736), _srgb_light),
    _Space((0.0, -0.0429383, 1.0429383), lambda values: values ** (563 / 256)),
)


def by_tables(transform: Convert) -> Convert | None:
    """A way that gives what `transform` does, within one level; None where these tables don't fit it.

    Args:
        transform: from some RGB to sRGB.
    """
    if numpy is None:
        return None
    red, green = numpy.meshgrid(_levels(256), _levels(256))
    levels = numpy.meshgrid(*[_levels(_PROBED)] * 3)
    # All their mixtures, coarsely, and each level of each of them with many others.
    probes = [[each.reshape(_PROBED**2, _PROBED) for each in levels], [red, green, red ^ green]]
    expected = [(probe, transform(_picture(*probe))) for probe in probes]
    pairs = numpy.asarray(transform(_picture(red, green, numpy.zeros_like(red)))).astype("<u2")
    for space in _SPACES:
        tables = _Tables(pairs, space)
        if all(_differ(tables.convert(_picture(*probe)), shown) <= 1 for probe, shown in expected):
            return tables.convert
    return None


def _levels(count: int) -> NDArray[Any]:
    return numpy.linspace(0, 255, count).astype(numpy.uint8)


def _picture(*channels: NDArray[Any]) -> Image.Image:
    return Image.fromarray(numpy.stack(channels, -1))


def _differ(one: Image.Image, other: Image.Image) -> int:
    """By how many levels, where they differ most."""
    return int(numpy.asarray(ImageChops.difference(one, other)).max())


class _Tables:
    """The way from one space to sRGB.

    Args:
        pairs: what becomes of each green (down) and red (across) without blue, as unsigned 16-bit numbers.
    """

    def __init__(self, pairs: NDArray[Any], space: _Space) -> None:
        # A pair as the two bytes are in memory: the first, red, counts least.
        self._pairs = (pairs[..., 0] | pairs[..., 1] << 8).ravel()
        light = space.light(_levels(256) / 255) * _LIGHT
        red, green, blue = space.blue
        of_pairs = red * light[None, :] + green * light[:, None] - _LEAST
        self._blue_of_pairs = numpy.round(of_pairs).astype(numpy.int16).ravel()
        self._blue_of_blue = numpy.round(blue * light).astype(numpy.int16)
        most = int(self._blue_of_pairs.max()) + int(self._blue_of_blue.max())
        values = _srgb_values((numpy.arange(most + 1) + _LEAST) / _LIGHT)
        self._blue = numpy.clip(numpy.round(255 * values), 0, 255).astype(numpy.uint8)

    def convert(self, picture: Image.Image) -> Image.Image:
        """A picture of mode RGB in sRGB."""
        width, height = picture.size
        pixels = numpy.empty((height, width, 4), numpy.uint8)
        copy = shared(pixels, "RGBX")
        copy.readonly = 0
        pairs = pixels.view("<u2")[..., 0]
        for first in range(0, height, _ROWS):
            end = min(first + _ROWS, height)
            copy.paste(picture.crop((0, first, width, end)).convert("RGBX"), (0, first))
            pair, blue = pairs[first:end].astype(numpy.intp), pixels[first:end, :, 2]
            light = self._blue_of_pairs.take(pair)
            light += self._blue_of_blue.take(blue)
            blue[:] = self._blue.take(light)
            pairs[first:end] = self._pairs.take(pair)
        return shared(pixels, "RGB")
