"""What a decoder process does. Who has it done imports this: no decoder comes with it, those take 10 MB."""

from collections.abc import Sequence
from pathlib import Path

from imaging.results import Metadata, Rendering


def prepare() -> None:
    """Import the decoders, so that it takes nothing of the first photo's time."""
    from imaging import exif, preview  # noqa: F401


def render(path: Path, *, max_pixels: int) -> Rendering:
    """Make all previews of a photo: see `imaging.preview.render`."""
    from imaging import preview

    return preview.render(path, max_pixels=max_pixels)


def read_exif(path: Path, present: Sequence[tuple[int, int]] | None = None) -> Metadata:
    """Read the metadata of a photo: see `imaging.exif.read_exif`."""
    from imaging import exif

    return exif.read_exif(path, present)
