"""A ThumbHash: some 25 bytes that show a blurred photo until its preview is there.

Own code from Evan Wallace's published description (https://evanw.github.io/thumbhash/), as what PyPI has for
Python is one release by one person each, or takes 30 ms a photo. Previews have no alpha, so hashes have none.
"""

import math
from functools import lru_cache
from operator import mul

from PIL import Image

from imaging.resize import fit, resize

_MAX_EDGE_PX = 32
"""7 waves at most are stored along an edge, so more pixels change nothing that is seen."""
_MAX_WAVES = 7
_COLOUR_WAVES = 3


def thumbhash(picture: Image.Image) -> bytes:
    """Hash a picture.

    Args:
        picture: of mode RGB, upright, of any size.
    """
    return hash_pixels(resize(picture, fit(picture.size, _MAX_EDGE_PX)))


def hash_pixels(picture: Image.Image) -> bytes:
    """Hash a picture of mode RGB from its pixels as they are; the description wants 100 x 100 at most."""
    width, height = picture.size
    red, green, blue = ([level / 255 for level in band.tobytes()] for band in picture.split())
    colours = list(zip(red, green, blue, strict=True))
    lightness = [(r + g + b) / 3 for r, g, b in colours]
    yellow_blue = [(r + g) / 2 - b for r, g, b in colours]
    red_green = [r - g for r, g, _ in colours]
    waves_x = max(1, _round(_MAX_WAVES * width / max(width, height)))
    waves_y = max(1, _round(_MAX_WAVES * height / max(width, height)))
    at_least = _COLOUR_WAVES
    l_mean, l_waves, l_scale = _encode(
        lightness, width, height, max(at_least, waves_x), max(at_least, waves_y)
    )
    p_mean, p_waves, p_scale = _encode(yellow_blue, width, height, at_least, at_least)
    q_mean, q_waves, q_scale = _encode(red_green, width, height, at_least, at_least)
    is_landscape = width > height
    head = (
        _round(63 * l_mean)
        | _round(31.5 + 31.5 * p_mean) << 6
        | _round(31.5 + 31.5 * q_mean) << 12
        | _round(31 * l_scale) << 18
        | (waves_y if is_landscape else waves_x) << 24
        | _round(63 * p_scale) << 27
        | _round(63 * q_scale) << 33
        | is_landscape << 39
    )
    nibbles = [_round(15 * wave) for wave in (*l_waves, *p_waves, *q_waves)]
    nibbles += [0] * (len(nibbles) % 2)
    pairs = zip(nibbles[::2], nibbles[1::2], strict=True)
    return head.to_bytes(5, "little") + bytes(low | high << 4 for low, high in pairs)


def _encode(
    channel: list[float], width: int, height: int, waves_x: int, waves_y: int
) -> tuple[float, list[float], float]:
    """Give a channel's mean, its low waves from 0 to 1 (0.5 is none), and the scale that makes them so."""
    x_waves, y_waves = _cosines(width, waves_x), _cosines(height, waves_y)
    rows = [channel[start : start + width] for start in range(0, width * height, width)]
    across = [[_product(wave, row) for row in rows] for wave in x_waves]
    factors = [
        _product(y_waves[y], across[x]) / (width * height)
        for y in range(waves_y)
        for x in range(waves_x)
        if x * waves_y < waves_x * (waves_y - y)
    ]
    mean, *waves = factors
    scale = max(map(abs, waves))
    return mean, [0.5 + 0.5 / scale * wave for wave in waves] if scale else waves, scale


def _product(left: list[float], right: list[float]) -> float:
    return sum(map(mul, left, right), 0.0)


@lru_cache(maxsize=64)
def _cosines(length: int, waves: int) -> list[list[float]]:
    return [[math.cos(math.pi / length * wave * (at + 0.5)) for at in range(length)] for wave in range(waves)]


def _round(value: float) -> int:
    """Round halves up, as the description's JavaScript does."""
    return math.floor(value + 0.5)
