"""Driving exifread: from an EXIF block to its tags, whatever the block is like.

`exifread.process_file` loses every tag when one of them is broken, and walks hostile structures for minutes
(33 s for 48 KB); its header class, driven here, keeps what was read and stops when its budget is used up.
"""

import logging
from typing import Any, BinaryIO

from exifread.core.exif_header import ExifHeader
from exifread.core.ifd_tag import IfdTag
from exifread.tags.exif import GPS_TAGS

from imaging import tiff

Tags = dict[str, IfdTag]
"""Tags by exifread's names, such as "Image Make", "EXIF ISOSpeedRatings", "GPS GPSLatitude"."""

_IPTC, _PHOTOSHOP, _ICC, _MAKER_NOTE, _DNG_PRIVATE = 0x83BB, 0x8649, 0x8773, 0x927C, 0xC634
_BLOBS = {tiff.XMP, _IPTC, _PHOTOSHOP, _ICC, _MAKER_NOTE, _DNG_PRIVATE, tiff.PANASONIC_JPEG}
# real files take 4 % of this; using it up takes under a second
_BUDGET_BYTES = 8 << 20
_COST_OF_A_READ = 64
_MAX_READ_BYTES = 1 << 16


class _BudgetUsedUp(Exception):
    """The block makes its reader read more than any real one does."""


class _Metered:
    """The part of a binary file that exifread uses, with a bound on how much is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, _BUDGET_BYTES

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, _MAX_READ_BYTES) if size >= 0 else _MAX_READ_BYTES)
        self._left -= _COST_OF_A_READ + len(data)
        if self._left < 0:
            raise _BudgetUsedUp
        return data


class _Header(ExifHeader):
    """exifread's reader, which goes on after a tag that it cannot read."""

    def _process_tag(self, ifd: int, ifd_name: str, tag_entry: Any, entry: int, tag: int, *rest: Any) -> None:
        if tag in _BLOBS:
            return
        try:
            super()._process_tag(ifd, ifd_name, tag_entry, entry, tag, *rest)
        except _BudgetUsedUp:
            raise
        except Exception:  # broken values make exifread raise anything
            logging.getLogger(__name__).debug("tag 0x%04X is unreadable", tag, exc_info=True)


def read(block: BinaryIO, directory: str = "Image") -> Tags:
    """Read the tags of a picture, its EXIF and its GPS directory.

    Args:
        block: a seekable file that starts with a TIFF header: an EXIF block, or a TIFF or raw file itself.
        directory: what the first directory is, by exifread's names: "Image", "EXIF" or "GPS".

    Returns:
        The tags that could be read; none of a block that is no TIFF structure. Maker notes, XMP, IPTC and
        colour profiles, which have formats of their own, are left out.
    """
    logging.getLogger("exifread").setLevel(logging.CRITICAL)
    block.seek(0)
    start = block.read(4)
    if not tiff.is_tiff(start):
        return {}
    header = _Header(_Metered(block), chr(start[0]), 0, 0, strict=False)  # type: ignore[arg-type]
    try:
        header.dump_ifd(header._first_ifd(), directory, GPS_TAGS if directory == "GPS" else None)
        exif = header.tags.get("Image ExifOffset")
        if exif and exif.values:
            header.dump_ifd(exif.values[0], "EXIF")
    except Exception:  # what was read before still counts
        logging.getLogger(__name__).debug("the EXIF block is broken", exc_info=True)
    return header.tags
