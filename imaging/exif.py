"""The metadata of one photo: normalised fields, and all raw tags."""

import io
from dataclasses import dataclass
from pathlib import Path

from imaging import exif_block, exif_tags, formats
from imaging.exif_fields import normalise
from imaging.exif_raw import Json, jsonable


@dataclass(frozen=True)
class Metadata:
    """What a photo's EXIF says."""

    fields: dict[str, Json]
    """By the interface's names, every one there, None where the file says nothing usable."""
    raw: dict[str, Json]
    """By directory and tag, such as "EXIF FNumber"; safe for PostgreSQL's jsonb."""


def read_exif(path: Path) -> Metadata:
    """Read the EXIF metadata of a photo; a photo without any gives fields of None.

    Args:
        path: the photo; what it is, its bytes say. Only headers are read, not the picture's data.

    Raises:
        NotAnImage, UnsupportedFormat: by the first bytes.
        OSError: the file cannot be opened.
    """
    with path.open("rb") as file:
        media_type = formats.sniff(file.read(formats.HEAD_BYTES))
        if media_type == "image/tiff":
            file.seek(0)
            tags = exif_tags.read(file)
        else:
            tags = exif_tags.read(io.BytesIO(exif_block.find(file, media_type) or b""))
    return Metadata(fields=normalise(tags), raw=jsonable(tags))
