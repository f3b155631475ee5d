"""Where a file keeps its EXIF block and its XMP packet, found by its container.

The tag reader only sees a TIFF structure.
"""

import io
import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from imaging import formats, isobmff, jpeg, png, tiff

_MAX_BYTES = 16 << 20
_MAX_CHUNKS = 100_000
# a JPEG's metadata stands at its beginning, in a few segments of at most 64 KiB
_HEAD_BYTES = 1 << 18
# some writers repeat the JPEG marker's prefix where the format has none
_PREFIX = re.compile(rb"(?:Exif\0.)*(?=II\*\0|MM\0\*)", re.DOTALL)
# XMP specification part 3, 1.1.3; what is too long for one segment ("extension") holds no field of ours
_XMP_IN_JPEG = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_IN_PNG = b"XML:com.adobe.xmp"


def find(file: BinaryIO, media_type: str) -> bytes | None:
    """Cut the EXIF block out of a photo; reads headers, seeks past the picture's data.

    Args:
        file: a seekable file, moved.
        media_type: as `formats.identify` gave it; TIFF structures, their own blocks, aren't asked for.

    Returns:
        The block from its TIFF header on, or None. For a Canon CR3, the main directory only.
    """
    for candidate in _candidates(file, media_type):
        prefix = _PREFIX.match(candidate)
        if prefix:
            return candidate[prefix.end() :]
    return None


def find_xmp(file: BinaryIO, media_type: str) -> bytes | None:
    """Cut the XMP packet out of a photo, or give None."""
    match media_type:
        case "image/jpeg":
            packets = (data for data in _in_jpeg(file) if data.startswith(_XMP_IN_JPEG))
            return next((data[len(_XMP_IN_JPEG) :] for data in packets), None)
        case "image/png":
            return next((text for keyword, text in png.texts(file) if keyword == _XMP_IN_PNG), None)
        case "image/webp":
            return next(_in_webp(file, b"XMP "), None)
        case "image/heic" | "image/heif" | "image/avif":
            return isobmff.item(file, b"mime", max_bytes=_MAX_BYTES)
        case "image/tiff" | "image/x-adobe-dng":
            return tiff.content(next(tiff.directories(file), {}), tiff.XMP)
    return None


def _candidates(file: BinaryIO, media_type: str) -> Iterator[bytes]:
    match media_type:
        case "image/jpeg":
            yield from _in_jpeg(file)
        case "image/png":
            yield from _in_png(file)
        case "image/webp":
            yield from _in_webp(file, b"EXIF")
        case "image/heic" | "image/heif" | "image/avif":
            item = isobmff.item(file, b"Exif", max_bytes=_MAX_BYTES) or b""
            # it starts with how far on its TIFF header is (ISO/IEC 23008-12, A.2.1)
            yield item[4 + int.from_bytes(item[:4], "big") :]
            yield item[4:]
        case "image/x-canon-cr3":
            yield isobmff.canon_blocks(file).get(b"CMT1", b"")
        case "image/x-panasonic-rw2":
            preview = tiff.content(next(tiff.directories(file), {}), tiff.PANASONIC_JPEG)
            yield from _in_jpeg(io.BytesIO(preview))
        case "image/x-fuji-raf":
            file.seek(formats.RAF_JPEG)
            start, length = struct.unpack(">2I", file.read(8).ljust(8, b"\0"))
            file.seek(start)
            yield from _in_jpeg(io.BytesIO(file.read(min(length, _HEAD_BYTES))))


def _in_jpeg(file: BinaryIO) -> Iterator[bytes]:
    """Yield what APP1 segments hold (EXIF 2.32, 4.7.2)."""
    for marker, start, length in jpeg.segments(file):
        if marker == jpeg.APP1:
            file.seek(start)
            yield file.read(length)


def _in_png(file: BinaryIO) -> Iterator[bytes]:
    """Yield eXIf chunks (PNG 3, 11.3.4.5), before or after the picture, then EXIF in texts."""
    for name, start, length in png.chunks(file):
        if name == png.EXIF:
            file.seek(start)
            yield file.read(min(length, _MAX_BYTES))
    for keyword, text in png.texts(file):
        if keyword.lower() in (b"raw profile type exif", b"raw profile type app1"):
            yield png.raw_profile(text)


def _in_webp(file: BinaryIO, wanted: bytes) -> Iterator[bytes]:
    """Yield the chunks of a name in the RIFF container, whatever the VP8X flags say."""
    at = 12
    for _ in range(_MAX_CHUNKS):
        file.seek(at)
        header = file.read(8)
        if len(header) < 8:
            return
        (length,) = struct.unpack("<I", header[4:])
        if header[:4] == wanted:
            yield file.read(min(length, _MAX_BYTES))
        at += 8 + length + length % 2
