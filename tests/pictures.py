"""Small real pictures, made on the spot: alike for the same `seed`, and unlike any other's."""

from __future__ import annotations

import io
import random
import struct
import zlib

import pillow_heif
from PIL import Image

_MAKE, _ORIENTATION = 0x010F, 0x0112
MAKE = "Safelight Test"


def picture(width: int = 640, height: int = 480, *, seed: int = 0) -> Image.Image:
    """A picture of coarse random patches: small as a file, and unlike any other seed's."""
    patches = Image.frombytes("RGB", (8, 6), random.Random(seed).randbytes(8 * 6 * 3))
    return patches.resize((width, height), Image.Resampling.BICUBIC)


def jpeg(width: int = 640, height: int = 480, *, seed: int = 0, orientation: int = 1) -> bytes:
    """A JPEG whose EXIF names a make and an orientation."""
    exif = Image.Exif()
    exif[_MAKE] = MAKE
    exif[_ORIENTATION] = orientation
    return _encoded(picture(width, height, seed=seed), "JPEG", exif=exif.tobytes())


def png(width: int = 640, height: int = 480, *, seed: int = 0) -> bytes:
    """A PNG with an eXIf chunk."""
    exif = Image.Exif()
    exif[_MAKE] = MAKE
    return _encoded(picture(width, height, seed=seed), "PNG", exif=exif.tobytes())


def heic(width: int = 640, height: int = 480, *, seed: int = 0) -> bytes:
    """A HEIC with EXIF, as phones write it."""
    exif = Image.Exif()
    exif[_MAKE] = MAKE
    out = io.BytesIO()
    file = pillow_heif.from_pillow(picture(width, height, seed=seed))
    file.save(out, quality=60, exif=exif.tobytes())
    return out.getvalue()


def large_jpeg(size_bytes: int, *, seed: int = 0) -> bytes:
    """A JPEG with so long a tail behind its picture that it has exactly `size_bytes`."""
    return jpeg(seed=seed).ljust(size_bytes, b"\0")


def huge_png(width: int = 50_000, height: int = 50_000) -> bytes:
    """A PNG whose valid header announces a gigantic picture, with next to nothing behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _encoded(image: Image.Image, format_name: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, format_name, **options)
    return out.getvalue()
