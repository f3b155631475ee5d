"""Colour: from whatever a file stores to 8-bit sRGB on white."""

import functools
import io

from PIL import Image, ImageCms

from imaging.gamut import Convert, by_tables

# the colour spaces of ICC profiles (ICC.1:2010, 7.2.6) that fit a Pillow mode
_SPACE_OF_MODE = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK", "LAB": "Lab"}


def continuous(picture: Image.Image) -> Image.Image:
    """Bring a picture into an 8-bit mode that can be scaled: L, RGB, RGBA, CMYK or LAB.

    Palettes and single bits are resolved, transparency becomes an alpha channel, more than 8 bits are
    scaled, not clipped.
    """
    if picture.mode.startswith("I;16"):
        # 16 bits to 8: 65535 / 257 = 255; only mode I can be computed with in either byte order
        return picture.convert("I").point(lambda value: value * (1 / 257) + 0).convert("L")
    if picture.mode in ("I", "F"):
        return _stretched(picture)
    if picture.has_transparency_data:
        return picture.convert("RGBA")
    if picture.mode in _SPACE_OF_MODE:
        return picture
    return picture.convert("L" if picture.mode == "1" else "RGB")


def _stretched(picture: Image.Image) -> Image.Image:
    """Scale 32-bit grey, whose range no format fixes, from its own extremes (or 0) to 0-255."""
    low, high = picture.getextrema()
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        raise ValueError("more than one channel")
    low = min(0, low)
    scale = 255 / (high - low) if high > low else 0
    return picture.point(lambda value: value * scale + -low * scale).convert("L")


def to_srgb(picture: Image.Image, icc: bytes | None) -> Image.Image:
    """Show a picture in sRGB, without alpha.

    Args:
        picture: as `continuous` gives it; what is transparent is put on white.
        icc: the colour profile that the file embeds. One that is broken, or that is for another colour
            space than the picture's, is ignored (ICC.1:2010; relative colorimetric intent).

    Returns:
        A picture of mode RGB that carries no metadata.
    """
    if picture.mode == "RGBA":
        white = Image.new("RGB", picture.size, "white")
        white.paste(picture, mask=picture.getchannel("A"))
        picture = white
    convert = _conversion(_lab_profile() if picture.mode == "LAB" else icc or b"", picture.mode)
    if convert:
        picture = convert(picture)
    shown = picture if picture.mode == "RGB" else picture.convert("RGB")
    shown.info = {}  # the transform's own sRGB profile would otherwise ride along
    return shown


def _lab_profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()


@functools.lru_cache(maxsize=16)
def _conversion(icc: bytes, mode: str) -> Convert | None:
    """Build the way from a profile to sRGB; None where there is none to go."""
    if not icc:
        return None
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(icc))
        if profile.profile.xcolor_space.strip() != _SPACE_OF_MODE[mode]:
            return None
        srgb = ImageCms.createProfile("sRGB")
        transform = ImageCms.buildTransform(profile, srgb, mode, "RGB", ImageCms.Intent.RELATIVE_COLORIMETRIC)
    except (ImageCms.PyCMSError, OSError):
        return None

    def convert(picture: Image.Image) -> Image.Image:
        return ImageCms.applyTransform(picture, transform) or picture

    if mode != "RGB":
        return convert
    return None if _changes_nothing(convert) else by_tables(convert) or convert


def _changes_nothing(convert: Convert) -> bool:
    """Tell whether a profile is sRGB under whatever name: most are, and converting costs 45 ms a photo."""
    levels = (0, 32, 96, 160, 224, 255)
    probe = Image.new("RGB", (len(levels) ** 2, len(levels)))
    probe.putdata([(red, green, blue) for red in levels for green in levels for blue in levels])
    pairs = zip(probe.tobytes(), convert(probe).tobytes(), strict=True)
    return all(abs(before - after) <= 2 for before, after in pairs)
