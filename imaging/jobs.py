"""What a decoder process does. Who has it done imports this: no decoder comes with it, those take 10 MB."""

from collections.abc import Sequence
from pathlib import Path

from imaging.results import Metadata, Rendering


def prepare() -> None:
    """Import the decoders, so that it takes nothing of the first photo's time."""
    from imaging import exif, preview  # noqa: F401


def render(path: Path, *, max_pixels: int, with_metadata: bool = False) -> tuple[Rendering, Metadata | None]:
    """Make all previews of a photo (`imaging.preview.render`), and read its metadata if that is wanted too.

    Where the metadata can't be read there is None: `read_exif` tells why.
    """
    from imaging import exif, preview

    rendering = preview.render(path, max_pixels=max_pixels)
    try:
        return rendering, exif.read_exif(path) if with_metadata else None
    except MemoryError:  # the process is of no further use: see `Slot.call`
        raise
    except Exception:  # noqa: BLE001 (any kind can come of broken bytes, and the previews are made)
        return rendering, None


def read_exif(path: Path, present: Sequence[tuple[int, int]] | None = None) -> Metadata:
    """Read the metadata of a photo: see `imaging.exif.read_exif`."""
    from imaging import exif

    return exif.read_exif(path, present)
