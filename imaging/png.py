"""The chunks of a PNG file, and the texts in them (PNG 3, 5.3 and 11.3.3)."""

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO

COLOUR_NUMBERS = b"cICP"
EXIF, TEXT, COMPRESSED_TEXT, UNICODE_TEXT = b"eXIf", b"tEXt", b"zTXt", b"iTXt"
_MAX_CHUNKS = 100_000
_MAX_BYTES = 1 << 20
"""Of a text, unpacked: a few KB can be made to unpack to gigabytes."""
# what ImageMagick writes: the profile's name, its length, then the bytes in hexadecimal
_PROFILE = re.compile(rb"\s*\w+\s+\d+\s+([0-9a-fA-F\s]+)")


def chunks(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Walk the chunks: name, where the content starts, its length. The file may be moved between two."""
    at = 8
    for _ in range(_MAX_CHUNKS):
        file.seek(at)
        header = file.read(8)
        if len(header) < 8 or header[4:] == b"IEND":
            return
        length = int.from_bytes(header[:4], "big")
        yield header[4:], at + 8, length
        at += 12 + length


def colour_numbers(file: BinaryIO) -> tuple[int, int] | None:
    """Read primaries and transfer as in ITU-T H.273 (PNG 3, 11.3.2.6); None where the file doesn't say."""
    for name, start, length in chunks(file):
        if name == COLOUR_NUMBERS and length == 4:
            file.seek(start)
            numbers = file.read(2)
            return (numbers[0], numbers[1]) if len(numbers) == 2 else None
        if name == b"IDAT":  # it has to stand before
            return None
    return None


def texts(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Walk the texts of all three kinds: keyword and content, unpacked, which broken ones are left out of."""
    for name, start, length in chunks(file):
        if name not in (TEXT, COMPRESSED_TEXT, UNICODE_TEXT):
            continue
        file.seek(start)
        keyword, _, content = file.read(min(length, _MAX_BYTES)).partition(b"\0")
        is_packed = name == COMPRESSED_TEXT
        if name == UNICODE_TEXT:
            is_packed = content[:1] == b"\1"
            content = content[2:].split(b"\0", 2)[-1]  # after the language and the translated keyword
        elif is_packed:
            content = content[1:]
        yield keyword, _unpacked(content) if is_packed else content


def raw_profile(text: bytes) -> bytes:
    """Read a profile that ImageMagick wrote as text under "Raw profile type ..."; b"" if it is none."""
    found = _PROFILE.match(text)
    digits = b"".join(found[1].split()) if found else b""
    return bytes.fromhex(digits[: len(digits) // 2 * 2].decode())


def _unpacked(content: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(content, _MAX_BYTES)
    except zlib.error:
        return b""
