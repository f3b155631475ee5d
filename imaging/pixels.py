"""Pictures in memory that others write to: neither cleared before, as Pillow's own are, nor copied after."""

from typing import Any

from PIL import Image


def shared(pixels: Any, mode: str) -> Image.Image:
    """A picture that is what the memory holds, and keeps it alive.

    Args:
        pixels: an array of bytes without gaps: height x width, x 4 but for "L". Of "RGB" the fourth doesn't
            count: four bytes a pixel is how Pillow keeps it.
        mode: L, RGB, RGBX, RGBA or CMYK.
    """
    height, width = pixels.shape[:2]
    raw = "RGBX" if mode == "RGB" else mode
    picture = Image.frombuffer(raw, (width, height), pixels, "raw", raw, 0, 1)
    return picture if raw == mode else Image.fromarrow(picture, mode, picture.size)
