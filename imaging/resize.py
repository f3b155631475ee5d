"""Scaling: by SIMD kernels where their wheel is installed, else by Pillow; both are Catmull-Rom."""

import threading

import PIL
from PIL import Image

from imaging.pixels import shared

try:
    import numpy
    from cykooz_resizer import CropBox, FilterType, ResizeAlg, ResizeOptions, Resizer
except ImportError:  # no wheel for this machine
    Resizer = None

Size = tuple[int, int]
Box = tuple[float, float, float, float]

# It reads Pillow's own structures: only those of the major version that the tests ran with.
_KNOWN_PILLOW = "13."
_KNOWN_MODES = ("L", "RGB", "RGBA", "CMYK")
_IS_FAST = Resizer is not None and PIL.__version__.startswith(_KNOWN_PILLOW)
_of_this_thread = threading.local()
# What may lie between the resizer's two passes: 4 MiB.
_BETWEEN_PIXELS = 1 << 20


def fit(size: Size, max_edge_px: int) -> Size:
    """Scale a size down so that its longest edge fits, never up.

    Args:
        size: width and height in pixels, > 0.
        max_edge_px: longest edge of the result in pixels, > 0.

    Returns:
        Width and height, aspect ratio kept within 1 px, no side under 1 px.
    """
    scale = min(1.0, max_edge_px / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def resize(picture: Image.Image, size: Size, box: Box | None = None) -> Image.Image:
    """Resample a picture of a continuous mode (L, RGB, RGBA, CMYK, LAB) to a size.

    Args:
        picture: the source; returned as it is where nothing has to change.
        size: width and height of the result in pixels.
        box: the part of the source to take, in its pixels; the whole if None.
    """
    whole = (0.0, 0.0, *picture.size)
    if picture.size == size and box in (None, whole):
        return picture
    if _IS_FAST and picture.mode in _KNOWN_MODES:
        return _resize_fast(picture, size, box or whole)
    return picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)


def _resize_fast(picture: Image.Image, size: Size, box: Box) -> Image.Image:
    """Scale in bands: what the resizer has between its two passes is 24 MiB of 12 megapixels, which it keeps.

    Not a picture with transparency, which it would multiply as a whole for each band.
    """
    if not hasattr(_of_this_thread, "resizer"):
        _of_this_thread.resizer = Resizer()
    left, top, right, bottom = box
    width, height = size
    scale = (bottom - top) / height
    rows = height if picture.mode == "RGBA" else min(height, max(1, int(_BETWEEN_PIXELS / (width * scale))))
    pixels = numpy.empty((height, width) if picture.mode == "L" else (height, width, 4), numpy.uint8)
    for first in range(0, height, rows):
        band = shared(pixels[first : first + rows], picture.mode)
        begin = top + first * scale
        part = CropBox(left, begin, right - left, min(band.height * scale, bottom - begin))
        options = ResizeOptions(ResizeAlg.convolution(FilterType.catmull_rom), crop_box=part)
        _of_this_thread.resizer.resize_pil(picture, band, options)
    return shared(pixels, picture.mode)
