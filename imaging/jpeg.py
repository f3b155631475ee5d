"""The segments of a JPEG file (ITU-T T.81, B.1.1)."""

from collections.abc import Iterator
from typing import BinaryIO

APP1 = 0xE1
END = b"\xff\xd9"
PROGRESSIVE = 0xC2
SCAN = 0xDA


def segments(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Walk the segments up to the first scan, which comes last.

    Yields:
        The marker's second byte, where the segment's content starts, and its length in bytes. The file may
        be moved between two of them. Ends without a scan where the file does, or where it is broken.
    """
    at = 2
    while True:
        file.seek(at)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF:
            return
        marker, length = head[1], int.from_bytes(head[2:], "big")
        if marker == 0xFF:
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        elif length < 2:
            return
        else:
            yield marker, at + 4, length - 2
            if marker == SCAN:
                return
            at += 2 + length
