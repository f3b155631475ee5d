"""A look into TIFF structures, which EXIF blocks and most raw files are too (TIFF 6.0, section 2)."""

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

PANASONIC_JPEG = 0x002E
SUBFILE_TYPE = 0x00FE
WIDTH, HEIGHT = 0x0100, 0x0101
COMPRESSION = 0x0103
MAKE = 0x010F
STRIP_OFFSETS, STRIP_BYTES = 0x0111, 0x0117
ORIENTATION = 0x0112
TILE_OFFSETS, TILE_BYTES = 0x0144, 0x0145
SUB_IFDS = 0x014A
XMP = 0x02BC
EXIF_IFD = 0x8769
PIXEL_WIDTH, PIXEL_HEIGHT = 0xA002, 0xA003
DNG_VERSION = 0xC612
DEFAULT_CROP_SIZE = 0xC620

Ifd = dict[int, tuple[int, ...]]
"""An image file directory: tag number to whole numbers; of fractions the whole part, of texts the bytes."""

# Olympus ORF and Panasonic RW2 differ from a TIFF in these bytes only
_MAGIC = {b"II*\0", b"MM\0*", b"IIRO", b"IIRS", b"MMOR", b"IIU\0"}
_LETTERS = {1: "B", 2: "B", 3: "H", 4: "I", 5: "II", 7: "B", 13: "I"}
_RATIONAL = 5
# what Panasonic gives as the place of data that it names in a tag of its own
_ELSEWHERE = 0xFFFFFFFF
_MAX_IFDS = 32
_MAX_ENTRIES = 1000
MAX_VALUES = 1 << 16
"""Of one tag; a picture of 4 gigapixels in tiles of 256 x 256 has that many."""


def is_tiff(block: bytes) -> bool:
    """Tell whether the bytes begin as a classic TIFF, or a raw file like one, does."""
    return block[:4] in _MAGIC


def directories(file: BinaryIO) -> Iterator[Ifd]:
    """Walk the directories of a file: the first one, then those that follow it or that it points to.

    A cut or broken file gives what stands before the damage; loops and floods are cut off.
    """
    file.seek(0)
    head = file.read(8)
    if not is_tiff(head) or len(head) < 8:
        return
    order = "<" if head[:2] == b"II" else ">"
    waiting, seen = list(struct.unpack_from(f"{order}I", head, 4)), {0}
    while waiting and len(seen) <= _MAX_IFDS:
        at = waiting.pop(0)
        if at in seen:
            continue
        seen.add(at)
        ifd, following = _read(file, order, at)
        if ifd:
            yield ifd
            waiting += [*ifd.get(SUB_IFDS, ())[:_MAX_IFDS], *ifd.get(EXIF_IFD, ())[:1], *following]


def _read(file: BinaryIO, order: str, at: int) -> tuple[Ifd, tuple[int, ...]]:
    """Read one directory, and where the next one is."""
    file.seek(at)
    (entries,) = struct.unpack(f"{order}H", file.read(2).ljust(2, b"\0"))
    entries = min(entries, _MAX_ENTRIES)
    table = file.read(12 * entries + 4)
    ifd: Ifd = {}
    for start in range(0, len(table) - 11, 12):
        if start == 12 * entries:
            break
        tag, kind, count = struct.unpack_from(f"{order}HHI", table, start)
        if kind in _LETTERS:
            ifd.setdefault(tag, _values(file, order, kind, count, table[start + 8 : start + 12]))
    following = table[12 * entries :]
    return ifd, struct.unpack(f"{order}I", following) if len(following) == 4 else ()


def _values(file: BinaryIO, order: str, kind: int, count: int, field: bytes) -> tuple[int, ...]:
    one = struct.calcsize(f"{order}{_LETTERS[kind]}")
    if count * one > 4:
        file.seek(*struct.unpack(f"{order}I", field))
        field = file.read(min(count, MAX_VALUES) * one)
    there = min(count, len(field) // one)
    numbers = struct.unpack_from(f"{order}{there * _LETTERS[kind]}", field)
    if kind != _RATIONAL:
        return numbers
    return tuple(up // down if down else 0 for up, down in zip(numbers[::2], numbers[1::2], strict=True))


def content(ifd: Ifd, tag: int) -> bytes:
    """Give what a tag of text or bytes holds; b"" without it."""
    return bytes(value & 0xFF for value in ifd.get(tag, ()))


def orientation(block: bytes | None) -> int:
    """Say how to turn a stored picture: 1 to 8 (EXIF 2.32, 4.6.4 A), 1 where nothing valid is said."""
    ifd = next(directories(io.BytesIO(block or b"")), {})
    value = next(iter(ifd.get(ORIENTATION, ())), 1)
    return value if 1 <= value <= 8 else 1


def data_end(file: BinaryIO) -> int:
    """Say where the last piece of picture data ends, in bytes, as the directories announce it.

    A file too short for its first directory ends where that begins.
    """
    file.seek(0)
    head = file.read(8)
    ends = [0]
    if is_tiff(head) and len(head) == 8:
        ends += struct.unpack_from("<I" if head[:2] == b"II" else ">I", head, 4)
    for ifd in directories(file):
        for offsets, sizes in ((STRIP_OFFSETS, STRIP_BYTES), (TILE_OFFSETS, TILE_BYTES)):
            pieces = zip(ifd.get(offsets, ()), ifd.get(sizes, ()), strict=False)
            ends += [offset + size for offset, size in pieces if offset != _ELSEWHERE]
    return max(ends)
