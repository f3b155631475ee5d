"""From a file to pixels: limits first, no more pixels than needed, and what a damaged file still shows."""

import contextlib
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pillow_heif
from PIL import Image, ImageChops, ImageFile, PngImagePlugin, UnidentifiedImageError

from imaging import cicp, exif_block, formats, isobmff, limits, png, raw, tiff, truncation, turbo, xmp
from imaging.errors import CorruptImage, ImagingError, TooManyPixels, TruncatedImage
from imaging.resize import Size, fit

TRUNCATED = "truncated"
"""The warning for a file that ends early: the previews show what was there."""
DAMAGED = "damaged"
"""The warning for a file with broken data inside: the previews show what could be read."""

_PLUGINS = {
    "image/jpeg": ["JPEG"],
    "image/png": ["PNG"],
    "image/gif": ["GIF"],
    "image/webp": ["WEBP"],
    "image/bmp": ["BMP"],
    "image/tiff": ["TIFF"],
    "image/heic": ["HEIF"],
    "image/heif": ["HEIF"],
    "image/avif": ["AVIF"],
}
_ISO = {"image/heic", "image/heif", "image/avif"}
# a picture of which less than this part can be read is not worth showing
_WORTH_SHOWING = 0.1


@dataclass(frozen=True)
class Decoded:
    """A picture as stored: not turned yet, and maybe smaller than the file says."""

    picture: Image.Image
    size: Size
    """Width and height as stored, in pixels; `picture` can be a smaller decode of it."""
    photo_size: Size
    """Of the photo itself, as stored: a raw photo has more pixels than the preview in it."""
    box: tuple[float, float, float, float]
    """The part of `picture` that is the whole photo (the decoder rounds odd sizes up)."""
    orientation: int
    """How to turn it upright: 1 to 8 (EXIF 2.32, 4.6.4 A)."""
    icc: bytes | None
    warnings: tuple[str, ...] = ()


def decode(path: Path, *, max_edge_px: int, max_pixels: int) -> Decoded:
    """Decode the first picture of a file.

    Args:
        path: the file; its name does not count.
        max_edge_px: what the longest edge is needed for; the decoder may leave out pixels beyond that.
        max_pixels: refuse pictures whose header announces more (of JPEGs, 4 times as many).

    Raises:
        ImagingError: one of the permanent ones.
        OSError: the file itself cannot be opened.
    """
    _prepare()
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of oddities that are no concern of anyone's
        media_type = formats.identify(file)
        if media_type not in formats.RAW:
            return _decode(file, media_type, _orientation(file, media_type), max_edge_px, max_pixels)
        photo = raw.find(file, media_type)
        decoded = _decode(photo.preview, "image/jpeg", photo.orientation, max_edge_px, max_pixels)
        notes = decoded.warnings or ((TRUNCATED,) if photo.is_cut else ())
        return replace(decoded, photo_size=photo.size, warnings=notes)


def _decode(file: BinaryIO, media_type: str, orientation: int, max_edge_px: int, max_pixels: int) -> Decoded:
    try:
        return _load(file, media_type, orientation, max_edge_px, max_pixels)
    except ImagingError:
        raise
    except Exception as error:
        # any kind of exception can come out of a decoder that is fed broken bytes
        # (one that doesn't know a file names it, and that name can be anything)
        if "memory" in str(error).lower() and not isinstance(error, UnidentifiedImageError):
            raise MemoryError(str(error)) from error
        return _load_rest(file, media_type, orientation, max_edge_px, max_pixels, reason=error)


@functools.cache
def _prepare() -> None:
    """Set the decoders up, once a process."""
    pillow_heif.register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    Image.MAX_IMAGE_PIXELS = None  # ours is checked instead
    # texts and profiles longer than Pillow's 1 MB do occur; the files are no worse for it
    PngImagePlugin.MAX_TEXT_CHUNK, PngImagePlugin.MAX_TEXT_MEMORY = 16 << 20, 64 << 20


def _orientation(file: BinaryIO, media_type: str) -> int:
    # Pillow turns a TIFF itself; a HEIF container's own rotation, where there is one, counts alone
    if media_type == "image/tiff" or (media_type in _ISO and isobmff.turns_picture(file)):
        return 1
    block = exif_block.find(file, media_type)
    return tiff.orientation(block) if block else xmp.orientation(exif_block.find_xmp(file, media_type))


def _load(file: BinaryIO, media_type: str, orientation: int, max_edge_px: int, max_pixels: int) -> Decoded:
    limit = limits.pixel_limit(file, media_type, max_pixels)
    file.seek(0)
    with Image.open(file, formats=_PLUGINS[media_type]) as picture:
        size = picture.size
        if size[0] * size[1] > limit:
            raise TooManyPixels(f"the picture has {size[0]} x {size[1]} pixels; the limit is {limit:,}")
        box = None
        if media_type == "image/jpeg":
            _, box = picture.draft(picture.mode, fit(size, max_edge_px)) or (None, None)
        if media_type == "image/avif" and isobmff.turns_picture(file):
            orientation = picture.getexif().get(tiff.ORIENTATION, 1)
        is_plain = media_type == "image/jpeg" and picture.mode == "RGB"
        loaded = turbo.decode(file, picture.size) if is_plain else None
        if loaded is None:
            _load_all(picture, media_type)
        if media_type in _ISO | {"image/tiff"}:
            size = picture.size  # known, or turned, only now
        if picture.mode == "CMYK" and media_type == "image/jpeg" and "adobe" not in picture.info:
            picture.im = ImageChops.invert(
                picture
            ).im  # Pillow takes every one to be inverted, as Adobe's are
        icc = picture.info.get("icc_profile")
        if media_type == "image/png" or not icc:
            icc = _profile(file, media_type) or icc
        if loaded is None:
            # a JPEG needs its file no more; of others some decoders would go back to it
            loaded = picture if media_type == "image/jpeg" else picture.copy()
        return Decoded(loaded, size, size, box or (0, 0, *size), orientation, icc)


def _load_all(picture: ImageFile.ImageFile, media_type: str) -> None:
    try:
        picture.load()
    except OSError:
        if not (ImageFile.LOAD_TRUNCATED_IMAGES and media_type == "image/tiff"):
            raise
        picture.load()  # Pillow keeps the strips that libtiff decoded before it failed


def _profile(file: BinaryIO, media_type: str) -> bytes | None:
    """Make a profile of what a file says by numbers: in a PNG it counts more than a profile, else less."""
    numbers = None
    if media_type == "image/png":
        numbers = png.colour_numbers(file)
    elif media_type in _ISO:
        numbers = isobmff.colour_numbers(file)
    return cicp.profile(*numbers) if numbers else None


def _load_rest(
    file: BinaryIO, media_type: str, orientation: int, max_edge_px: int, max_pixels: int, *, reason: Exception
) -> Decoded:
    """Decode what can be read of a damaged file."""
    is_cut = truncation.is_cut(file, media_type, reason)
    try:
        with _tolerant():
            source = truncation.closed(file, media_type)
            decoded = _load(source, media_type, orientation, max_edge_px, max_pixels)
    except Exception as error:
        if is_cut:
            raise TruncatedImage("the file ends too early to show anything of its picture") from error
        raise CorruptImage("the picture is damaged beyond use") from error
    if truncation.readable_part(file, media_type, decoded.picture) < _WORTH_SHOWING:
        if is_cut:
            raise TruncatedImage("the file ends within the first tenth of its picture") from reason
        raise CorruptImage("the picture is damaged from its beginning on") from reason
    return replace(decoded, warnings=(TRUNCATED if is_cut else DAMAGED,))


@contextlib.contextmanager
def _tolerant() -> Iterator[None]:
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before
