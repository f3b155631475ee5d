"""What is made of a photo, as it leaves the decoder process: previews and metadata.

Whoever stores or counts it imports this, and no decoder with it: those take 10 MB a process.
"""

from dataclasses import dataclass

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


@dataclass(frozen=True)
class PreviewSize:
    """One size that previews come in."""

    name: str
    max_edge_px: int


PREVIEW_SIZES = (
    PreviewSize("small", 320),
    PreviewSize("medium", 1280),
    PreviewSize("large", 2048),
)


@dataclass(frozen=True)
class Preview:
    """One encoded preview; width and height in pixels."""

    size: str
    width: int
    height: int
    media_type: str
    data: bytes


@dataclass(frozen=True)
class Rendering:
    """What one decode of a photo gives."""

    width: int
    """Of the original, upright, in pixels."""
    height: int
    previews: tuple[Preview, ...]
    """One of each of PREVIEW_SIZES, in that order."""
    placeholder: bytes
    """A ThumbHash: some 25 bytes that show the photo, blurred, until a preview is there."""
    warnings: tuple[str, ...]
    """`truncated` or `damaged` where only a part of the picture could be read."""


@dataclass(frozen=True)
class Metadata:
    """What a photo's EXIF says, and where it is missing, its XMP."""

    fields: dict[str, Json]
    """By the interface's names, every one there, None where the file says nothing usable."""
    raw: dict[str, Json]
    """By directory and tag, such as "EXIF FNumber" or "XMP dc:creator"; safe for PostgreSQL's jsonb."""
