"""The segments of a JPEG file (ITU-T T.81, B.1.1)."""

import re
from collections.abc import Iterator
from typing import BinaryIO

APP1 = 0xE1
START = b"\xff\xd8\xff"
END = b"\xff\xd9"
SEQUENTIAL = {0xC0, 0xC1, 0xC9}
PROGRESSIVE = 0xC2
SCAN = 0xDA

# the start-of-frame markers of what decoders read (T.81, table B.1); the lossless ones hold sensor data
_FRAMES = {*SEQUENTIAL, PROGRESSIVE, 0xCA}
# with its length and number of components (T.81, B.2.3): the marker alone comes up in profiles and videos too
_SCAN_HEADER = re.compile(rb"\xff\xda\0[\x08\x0a\x0c\x0e][\x01-\x04]")
# a real file has some dozens of segments; a hostile one could be of nothing but fill bytes
_MAX_STEPS = 10_000


def segments(file: BinaryIO, start: int = 0, max_steps: int = _MAX_STEPS) -> Iterator[tuple[int, int, int]]:
    """Walk the segments up to the first scan, which comes last.

    Args:
        file: any file.
        start: where in it the JPEG begins.
        max_steps: after how many segments and fill bytes to give up.

    Yields:
        The marker's second byte, where in the file the segment's content starts, and its length in bytes. The
        file may be moved between two of them. Ends without a scan where the file does, or where it is broken.
    """
    at = start + 2
    for _ in range(max_steps):
        file.seek(at)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF:
            return
        marker, length = head[1], int.from_bytes(head[2:], "big")
        if marker == 0xFF:
            at += 1
        elif marker in (0x00, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 2
        elif length < 2:
            return
        else:
            yield marker, at + 4, length - 2
            if marker == SCAN:
                return
            at += 2 + length


def frame(file: BinaryIO, start: int = 0, max_steps: int = _MAX_STEPS) -> tuple[int, int, int] | None:
    """Read the frame header of a JPEG: its marker, width and height; None without one that decoders read."""
    for marker, at, length in segments(file, start, max_steps):
        if marker in _FRAMES and length >= 6:
            file.seek(at)
            if len(header := file.read(6)) < 6:
                return None
            height, width, components = (
                int.from_bytes(part, "big") for part in (header[1:3], header[3:5], header[5:])
            )
            if header[0] == 8 and width and height and components in (1, 3, 4):
                return marker, width, height
            return None
    return None


def scans(file: BinaryIO) -> int:
    """Count the scans of a JPEG, and those of a thumbnail in it."""
    file.seek(0)
    return sum(len(_SCAN_HEADER.findall(block)) for block in iter(lambda: file.read(1 << 20), b""))
