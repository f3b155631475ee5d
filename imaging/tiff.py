"""A first look into TIFF structures, which EXIF blocks and most raw files are too (TIFF 6.0, section 2)."""

import struct

SUBFILE_TYPE = 0x00FE
COMPRESSION = 0x0103
MAKE = 0x010F
ORIENTATION = 0x0112
SUB_IFDS = 0x014A
DNG_VERSION = 0xC612

_BYTE, _SHORT, _LONG = 1, 3, 4


def is_tiff(block: bytes) -> bool:
    """Tell whether the bytes begin as a classic TIFF does."""
    return block[:4] in (b"II*\0", b"MM\0*")


def first_ifd(block: bytes) -> dict[int, int]:
    """Read the tags of the first image file directory, as far as the bytes reach.

    Args:
        block: bytes from the TIFF header on; a cut or broken block gives the tags before the damage.

    Returns:
        Tag number to value: the number for one BYTE, SHORT or LONG, else the bare value-or-offset field.
    """
    if not is_tiff(block):
        return {}
    order = "<" if block[:2] == b"II" else ">"
    tags: dict[int, int] = {}
    try:
        (start,) = struct.unpack_from(f"{order}I", block, 4)
        (entries,) = struct.unpack_from(f"{order}H", block, start)
        for entry in range(start + 2, start + 2 + 12 * entries, 12):
            tag, kind, count = struct.unpack_from(f"{order}HHI", block, entry)
            one = {_BYTE: "B", _SHORT: "H"}.get(kind, "I") if count == 1 else "I"
            (value,) = struct.unpack_from(f"{order}{one}", block, entry + 8)
            tags.setdefault(tag, value)
    except struct.error:
        pass
    return tags


def orientation(block: bytes | None) -> int:
    """Say how to turn a stored picture: 1 to 8 (EXIF 2.32, 4.6.4 A), 1 where nothing valid is said."""
    value = first_ifd(block).get(ORIENTATION, 1) if block else 1
    return value if 1 <= value <= 8 else 1
