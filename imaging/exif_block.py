"""Where a file keeps its EXIF block, found by its container: the tag reader only sees a TIFF structure."""

import re
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from imaging import isobmff, jpeg

_MAX_BYTES = 16 << 20
# some writers repeat the JPEG marker's prefix where the format has none
_PREFIX = re.compile(rb"(?:Exif\0.)*(?=II\*\0|MM\0\*)", re.DOTALL)


def find(file: BinaryIO, media_type: str) -> bytes | None:
    """Cut the EXIF block out of a photo; reads headers, seeks past the picture's data.

    Args:
        file: a seekable file, read from its start.
        media_type: as `formats.sniff` gave it.

    Returns:
        The block from its TIFF header on, or None. For a TIFF, which is its own block, its first 64 KiB.
    """
    file.seek(0)
    if media_type == "image/tiff":
        return file.read(1 << 16)
    candidates = _FINDERS.get(media_type, _nothing)(file)
    for candidate in candidates:
        prefix = _PREFIX.match(candidate)
        if prefix:
            return candidate[prefix.end() :]
    return None


def _nothing(_: BinaryIO) -> Iterator[bytes]:
    return iter(())


def _in_jpeg(file: BinaryIO) -> Iterator[bytes]:
    """Yield what APP1 segments hold (EXIF 2.32, 4.7.2)."""
    for marker, start, length in jpeg.segments(file):
        if marker == jpeg.APP1:
            file.seek(start)
            yield file.read(length)


def _in_png(file: BinaryIO) -> Iterator[bytes]:
    """Yield eXIf chunks (PNG 3, 11.3.4.5), which may stand before or after the picture."""
    file.seek(8)
    while len(header := file.read(8)) == 8 and header[4:] != b"IEND":
        length = int.from_bytes(header[:4], "big")
        if header[4:] == b"eXIf":
            yield file.read(min(length, _MAX_BYTES))
        file.seek(length + 4 if header[4:] != b"eXIf" else max(0, length - _MAX_BYTES) + 4, 1)


def _in_webp(file: BinaryIO) -> Iterator[bytes]:
    """Yield EXIF chunks of the RIFF container, whatever the VP8X flags say."""
    file.seek(12)
    while len(header := file.read(8)) == 8:
        (length,) = struct.unpack("<I", header[4:])
        if header[:4] == b"EXIF":
            yield file.read(min(length, _MAX_BYTES))
            return
        file.seek(length + length % 2, 1)


def _in_heif(file: BinaryIO) -> Iterator[bytes]:
    """Yield the EXIF item, which starts with how far on its TIFF header is (ISO/IEC 23008-12, A.2.1)."""
    item = isobmff.exif_item(file, max_bytes=_MAX_BYTES)
    if item:
        yield item[4 + int.from_bytes(item[:4], "big") :]
        yield item[4:]


_FINDERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    "image/jpeg": _in_jpeg,
    "image/png": _in_png,
    "image/webp": _in_webp,
    "image/heic": _in_heif,
    "image/heif": _in_heif,
    "image/avif": _in_heif,
}
