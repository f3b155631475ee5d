"""A copy of an object of which only some is there: what nobody reads isn't fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

# A JPEG's metadata, a TIFF's first directory and a HEIC's boxes all stand within this.
HEAD_BYTES = 256 * 1024


class PartialFile:
    """An object as a local file with holes, to be filled where they are read.

    Args:
        path: where the copy is; it is made, as long as the object.
        fetch: gives an object's bytes from a first one to an end.

    Attributes:
        present: what isn't a hole, as (first byte, end); None if all is there.
    """

    def __init__(
        self, path: Path, size_bytes: int, fetch: Callable[[tuple[int, int]], Iterable[bytes]]
    ) -> None:
        self.path = path
        self.present: list[tuple[int, int]] | None = []
        self._size_bytes = size_bytes
        self._fetch = fetch
        with path.open("wb") as file:
            file.truncate(size_bytes)
        self.fill((0, HEAD_BYTES))

    @classmethod
    def whole(cls, path: Path) -> PartialFile:
        """A file that is all there."""
        made = cls.__new__(cls)
        made.path, made.present = path, None
        return made

    def fill(self, part: tuple[int, int] | None = None) -> None:
        """Fetch a part, a head's length at least, or all of it.

        Raises:
            ObjectMissing, StoreAway
        """
        first, end = part or (0, self._size_bytes)
        end = min(max(end, first + HEAD_BYTES), self._size_bytes)
        with self.path.open("r+b") as file:
            file.seek(first)
            file.writelines(self._fetch((first, end)))
        self.present = None if part is None or self.present is None else [*self.present, (first, end)]
