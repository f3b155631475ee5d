"""Scaling: the one place to change when another resizer takes over."""

from PIL import Image

Size = tuple[int, int]


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


def resize(
    picture: Image.Image, size: Size, box: tuple[float, float, float, float] | None = None
) -> Image.Image:
    """Resample a picture of a continuous mode (L, RGB, RGBA, CMYK, LAB) to a size.

    Args:
        picture: the source; returned as it is where nothing has to change.
        size: width and height of the result in pixels.
        box: the part of the source to take, in its pixels; the whole if None.
    """
    if picture.size == size and box in (None, (0, 0, *size)):
        return picture
    return picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
