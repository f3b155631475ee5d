"""Every preview of one photo, from a single decode."""

import io
from pathlib import Path

from PIL import Image

from imaging.colour import continuous, to_srgb
from imaging.decode import decode
from imaging.resize import Size, fit, resize
from imaging.results import PREVIEW_SIZES, Preview, Rendering
from imaging.thumbhash import thumbhash

MEDIA_TYPE = "image/jpeg"
_QUALITY = 80

# what makes a stored picture upright, by its EXIF orientation (EXIF 2.32, 4.6.4 A)
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def render(path: Path, *, max_pixels: int) -> Rendering:
    """Make all previews of a photo: upright, sRGB, on white, without any metadata, never enlarged.

    Args:
        path: the photo; what it is, its bytes say.
        max_pixels: refuse pictures whose header announces more (of JPEGs, 4 times as many).

    Raises:
        NotAnImage, UnsupportedFormat, TruncatedImage, CorruptImage, TooManyPixels: for good.
        OSError: the file cannot be opened.
    """
    largest_first = sorted(PREVIEW_SIZES, key=lambda size: size.max_edge_px, reverse=True)
    largest_px = largest_first[0].max_edge_px
    decoded = decode(path, max_edge_px=largest_px, max_pixels=max_pixels)
    # scaled before it is converted and turned: each step then has the fewest pixels to do
    picture = resize(continuous(decoded.picture), fit(decoded.size, largest_px), decoded.box)
    picture = to_srgb(picture, decoded.icc)
    if decoded.orientation in _TURNS:
        picture = picture.transpose(_TURNS[decoded.orientation])
    shown = _upright(decoded.size, decoded.orientation)
    previews: dict[str, Preview] = {}
    data = b""
    for size in largest_first:
        smaller = resize(picture, fit(shown, size.max_edge_px))
        if not data or smaller is not picture:  # a small photo has the same preview in several sizes
            data = _encode(smaller)
        picture = smaller
        previews[size.name] = Preview(size.name, *picture.size, MEDIA_TYPE, data)
    in_order = tuple(previews[size.name] for size in PREVIEW_SIZES)
    width, height = _upright(decoded.photo_size, decoded.orientation)
    return Rendering(width, height, in_order, thumbhash(picture), decoded.warnings)


def _upright(size: Size, orientation: int) -> Size:
    return (size[1], size[0]) if orientation >= 5 else size


def _encode(picture: Image.Image) -> bytes:
    """Encode as JPEG; Pillow copies comments and the like from `info`, which is empty here."""
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY, subsampling="4:2:0")
    return out.getvalue()
