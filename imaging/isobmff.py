"""HEIF containers (HEIC, AVIF): where their EXIF lies, and whether they turn their picture themselves.

The box structure is ISO/IEC 14496-12 (4.2, 8.11); the properties are ISO/IEC 23008-12 (6.5).
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

_MAX_META_BYTES = 16 << 20
_MAX_EXTENTS = 1000


class _Reader:
    """Reads big-endian numbers in turn; past the end it raises struct.error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> int:
        """Read an unsigned number of `size` bytes; 0 bytes are the number 0."""
        piece = self.data[self.at : self.at + size]
        if len(piece) != size:
            raise struct.error("the box ends early")
        self.at += size
        return int.from_bytes(piece, "big")

    def full_box(self) -> tuple[int, int]:
        return self.take(1), self.take(3)


def top_boxes(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Walk the outermost boxes: type, start of the content, end as announced (maybe past the file's)."""
    at, size_bytes = 0, file.seek(0, 2)
    while at + 8 <= size_bytes:
        file.seek(at)
        header = file.read(16)
        length, start = int.from_bytes(header[:4], "big"), at + 8
        if length == 1:
            length, start = int.from_bytes(header[8:16], "big"), at + 16
        end = size_bytes if length == 0 else at + length
        if end < start:
            return
        yield header[4:8], start, end
        at = end


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(data):
        length, start = int.from_bytes(data[at : at + 4], "big"), at + 8
        if length == 1:
            length, start = int.from_bytes(data[at + 8 : at + 16], "big"), at + 16
        end = len(data) if length == 0 else at + length
        if end < start:
            return
        yield data[at + 4 : at + 8], data[start:end]
        at = end


def _meta(file: BinaryIO) -> dict[bytes, bytes]:
    for kind, start, end in top_boxes(file):
        if kind == b"meta":
            file.seek(start)
            return dict(_boxes(file.read(min(end - start, _MAX_META_BYTES))[4:]))
    return {}


def item(file: BinaryIO, kind: bytes, *, max_bytes: int) -> bytes | None:
    """Read the first item of a type, such as Exif (a 4-byte offset, what it spans, the block) or mime."""
    meta = _meta(file)
    try:
        wanted = next((id_ for id_, found in _item_types(meta.get(b"iinf", b"")) if found == kind), None)
        for id_, method, extents in _item_places(meta.get(b"iloc", b"")):
            if id_ == wanted:
                return _read_extents(file, extents, meta.get(b"idat") if method == 1 else None, max_bytes)
    except struct.error:
        pass
    return None


def turns_picture(file: BinaryIO) -> bool:
    """Tell whether the primary picture carries a rotation or mirror property."""
    return any(kind in (b"irot", b"imir") for kind, _ in _primary_properties(file))


def colour_numbers(file: BinaryIO) -> tuple[int, int] | None:
    """Read primaries and transfer of the primary picture as in ITU-T H.273; None where it has none."""
    for kind, data in _primary_properties(file):
        if kind == b"colr" and data[:4] == b"nclx" and len(data) >= 8:
            return int.from_bytes(data[4:6], "big"), int.from_bytes(data[6:8], "big")
    return None


def _primary_properties(file: BinaryIO) -> list[tuple[bytes, bytes]]:
    meta = _meta(file)
    boxes = dict(_boxes(meta.get(b"iprp", b"")))
    properties = list(_boxes(boxes.get(b"ipco", b"")))
    try:
        primary = _Reader(meta.get(b"pitm", b""))
        version, _ = primary.full_box()
        wanted = _associations(boxes.get(b"ipma", b""), primary.take(4 if version else 2))
    except struct.error:
        return []
    return [properties[index - 1] for index in wanted if 0 < index <= len(properties)]


def _item_types(iinf: bytes) -> Iterator[tuple[int, bytes]]:
    version = iinf[0] if iinf else 0
    for kind, data in _boxes(iinf[8 if version else 6 :]):
        reader = _Reader(data)
        version, _ = reader.full_box()
        if kind == b"infe" and version >= 2:
            id_ = reader.take(2 if version == 2 else 4)
            reader.take(2)
            yield id_, data[reader.at : reader.at + 4]


def _item_places(iloc: bytes) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Walk the item location box: item, method (0 in the file, 1 in idat), extents of (offset, length)."""
    reader = _Reader(iloc)
    version, _ = reader.full_box()
    sizes = reader.take(2)
    offset_size, length_size, base_size = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15
    index_size = sizes & 15 if version else 0
    for _ in range(reader.take(4 if version == 2 else 2)):
        id_ = reader.take(4 if version == 2 else 2)
        method = reader.take(2) & 15 if version else 0
        reader.take(2)
        base = reader.take(base_size)
        extents = []
        for _ in range(reader.take(2)):
            reader.take(index_size)
            extents.append((base + reader.take(offset_size), reader.take(length_size)))
        yield id_, method, extents


def _associations(ipma: bytes, item: int) -> list[int]:
    """List the numbers, from 1, of the properties that belong to an item."""
    reader = _Reader(ipma)
    version, flags = reader.full_box()
    size = 2 if flags & 1 else 1
    for _ in range(reader.take(4)):
        id_ = reader.take(4 if version else 2)
        indexes = [reader.take(size) & (0x7FFF if size == 2 else 0x7F) for _ in range(reader.take(1))]
        if id_ == item:
            return indexes
    return []


def _read_extents(
    file: BinaryIO, extents: list[tuple[int, int]], idat: bytes | None, max_bytes: int
) -> bytes:
    parts: list[bytes] = []
    for offset, length in extents[:_MAX_EXTENTS]:
        length = min(length, max_bytes - sum(map(len, parts)))
        if idat is not None:
            parts.append(idat[offset : offset + length])
        else:
            file.seek(offset)
            parts.append(file.read(length))
    return b"".join(parts)


_CANON = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")


def canon_blocks(file: BinaryIO) -> dict[bytes, bytes]:
    """Read the TIFF structures of a Canon CR3: CMT1 is the main directory, CMT2 is EXIF's, CMT4 is GPS'.

    Canon publishes no description; they lie in the first `uuid` box of `moov`.
    """
    for kind, start, end in top_boxes(file):
        if kind == b"moov":
            file.seek(start)
            inner = _boxes(file.read(min(end - start, _MAX_META_BYTES)))
            uuids = (data[16:] for name, data in inner if name == b"uuid" and data.startswith(_CANON))
            return dict(_boxes(next(uuids, b"")))
    return {}
