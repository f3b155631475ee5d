"""The metadata of one photo: normalised fields, and all raw tags."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from imaging import exif_block, exif_tags, formats, isobmff, partial, xmp, xmp_fields
from imaging.exif_fields import normalise
from imaging.exif_raw import jsonable, text
from imaging.results import Metadata

# Canon's CR3 has each directory in a block of its own
_CANON_DIRECTORIES = {b"CMT1": "Image", b"CMT2": "EXIF", b"CMT4": "GPS"}
# where EXIF has none of these it was lost, and only then XMP counts: the two are not kept in step by everyone
_ESSENTIAL = ("make", "model", "taken_at", "latitude")


def read_exif(path: Path, present: Sequence[tuple[int, int]] | None = None) -> Metadata:
    """Read the metadata of a photo; a photo without any gives fields of None.

    Args:
        path: the photo; what it is, its bytes say. Only headers are read, not the picture's data.
        present: what is there of a file with holes, as (first byte, end); None for all.

    Raises:
        BytesMissing: what isn't there is needed.
        NotAnImage, UnsupportedFormat: by the first bytes.
        OSError: the file cannot be opened.
    """
    with partial.opened(path, present) as file:
        media_type = formats.identify(file)
        tags = _tags(file, media_type)
        properties = xmp.parse(exif_block.find_xmp(file, media_type) or b"")
    fields = normalise(tags)
    if all(fields[name] is None for name in _ESSENTIAL):
        fields |= {
            name: value for name, value in xmp_fields.normalise(properties).items() if fields[name] is None
        }
    raw = jsonable(tags) | {f"XMP {name}": text(value) for name, value in properties.items()}
    return Metadata(fields, raw)


def _tags(file: BinaryIO, media_type: str) -> exif_tags.Tags:
    if media_type == "image/tiff" or media_type in formats.TIFF_RAW:
        tags = exif_tags.read(file)
        # Panasonic keeps some in the JPEG inside only, such as the ISO
        inside = exif_tags.read(io.BytesIO(exif_block.find(file, media_type) or b""))
        return inside | tags
    if media_type == "image/x-canon-cr3":
        blocks = isobmff.canon_blocks(file)
        found = [
            exif_tags.read(io.BytesIO(blocks.get(kind, b"")), name)
            for kind, name in _CANON_DIRECTORIES.items()
        ]
        return {name: tag for tags in found for name, tag in tags.items()}
    return exif_tags.read(io.BytesIO(exif_block.find(file, media_type) or b""))
