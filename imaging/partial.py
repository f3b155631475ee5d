"""Reading a file of which only some is there, and telling what is missing."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class BytesMissing(Exception):
    """What was read has a hole: have it filled, and read again."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__(first, end)
        self.part = (first, end)


@contextmanager
def opened(path: Path, present: Sequence[tuple[int, int]] | None) -> Iterator[BinaryIO]:
    """Open a file for reading; a hole reads as zeros, and ends the block in an error, whatever came of them.

    Args:
        present: what is there of it, as (first byte, end); None for all.

    Raises:
        BytesMissing: the first hole that was read from.
        OSError: it can't be opened.
    """
    with _Watched(path, present) as file:
        try:
            yield file
        finally:
            if file.missing is not None:
                # Whatever was raised before came of bytes that aren't the file's.
                raise BytesMissing(*file.missing) from None


class _Watched(io.BufferedReader):
    """A file that notes the first hole that it is read in; there are no other ways to read it than `read`."""

    def __init__(self, path: Path, present: Sequence[tuple[int, int]] | None) -> None:
        super().__init__(io.FileIO(path))
        self.missing: tuple[int, int] | None = None
        self._size_bytes = path.stat().st_size
        self._present = [(0, self._size_bytes)] if present is None else sorted(present)

    def read(self, size: int | None = -1) -> bytes:
        first = self.tell()
        data = super().read(size)
        if self.missing is None:
            self._note(first, first + len(data))
        return data

    def _note(self, first: int, end: int) -> None:
        for begins, ends in self._present:
            if begins <= first < ends:
                first = ends
        if first < end:
            self.missing = (first, end)
