"""Files made to hurt: each ends soon, in a result or an error of ours, in a process with little memory."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageCms

from imaging.errors import ImagingError, TooManyPixels
from imaging.exif import read_exif
from imaging.preview import render
from imaging.sandbox import Sandbox
from tests.imaging.pictures import (
    ASCII,
    LONG,
    RATIONAL,
    SHORT,
    UNDEFINED,
    Entry,
    box,
    chunk,
    encoded,
    exif,
    four_corners,
    jpeg_with,
    png_header,
    raw_tiff,
    webp_with,
)

MEMORY_BYTES = 1 << 30
LIMIT_S = 15
JPEG = encoded(four_corners(), "JPEG")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox(1, MEMORY_BYTES)
    yield sandbox
    sandbox.close()


def png(*chunks: tuple[bytes, bytes], picture: bytes | None = None) -> bytes:
    """A PNG with further chunks behind its header."""
    data = picture or encoded(four_corners(), "PNG")
    return data[:33] + b"".join(chunk(name, content) for name, content in chunks) + data[33:]


def looping_ifds() -> bytes:
    """An EXIF block whose directories point to each other and to themselves."""
    ring = [(0x8769, LONG, 8), (0x8825, LONG, 8), (0x14A, LONG, [8] * 500), (0xA005, LONG, 8)]
    block = exif(ring)
    return block[:-4] + (8).to_bytes(4, "little")


def deep_ifds(count: int = 5000) -> bytes:
    """A chain of directories, each the EXIF directory of the one before."""
    parts = [b"II*\0\x08\0\0\0"]
    for number in range(count):
        following = 8 + 18 * (number + 1)
        parts.append(struct.pack("<HHHIII", 1, 0x8769, LONG, 1, following, following))
    return b"".join(parts)


def huge_counts(kind: int) -> bytes:
    """Tags that claim four thousand million values each."""
    entries = b"".join(struct.pack("<HHII", 0x100 + tag, kind, 0xFFFFFFFF, 8) for tag in range(400))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", 400) + entries + bytes(4)


def many_strips() -> bytes:
    """A TIFF of one row a strip, a million of them."""
    count = 1_000_000
    entries: list[Entry] = [
        (0x100, LONG, 1),
        (0x101, LONG, count),
        (0x102, SHORT, 8),
        (0x103, SHORT, 1),
        (0x106, SHORT, 1),
        (0x111, LONG, [8] * count),
        (0x116, LONG, 1),
        (0x117, LONG, [1] * count),
    ]
    return exif(entries)


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose frame header claims a size."""
    at = JPEG.index(b"\xff\xc0") + 5
    return JPEG[:at] + struct.pack(">2H", height, width) + JPEG[at + 4 :]


def frames_outside() -> bytes:
    """A GIF whose first frame lies beyond its canvas."""
    data = bytearray(encoded(Image.new("P", (32, 32), 3), "GIF"))
    at = data.index(b"\x2c", 13)
    data[at + 1 : at + 9] = struct.pack("<4H", 65000, 65000, 535, 535)
    return bytes(data)


def endless_scans() -> bytes:
    """A progressive JPEG that repeats a scan, each of which goes over the whole picture."""
    data = encoded(Image.new("L", (4000, 4000)), "JPEG", progressive=True)
    scan = data.rindex(b"\xff\xda")
    return data[:-2] + data[scan:-2] * 3000 + b"\xff\xd9"


def many_frames() -> bytes:
    """A GIF of a hundred thousand frames."""
    data = encoded(Image.new("P", (32, 32), 3), "GIF")
    frame = data[data.index(b"\x2c", 13) : -1]
    return data[:-1] + frame * 100_000 + b";"


def giant_profile() -> bytes:
    """A colour profile that says it is 4 GB long, and whose table has a million entries."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[0:4], profile[128:132] = b"\xff" * 4, struct.pack(">I", 1_000_000)
    return bytes(profile) + bytes(10_000_000)


ATTACKS = {
    "directories in a ring": jpeg_with([b"Exif\0\0" + looping_ifds()]),
    "directories in a deep chain": encoded(four_corners(), "PNG", exif=deep_ifds()),
    "a ring in a TIFF": looping_ifds(),
    "a ring in a raw photo": raw_tiff(JPEG, more=[(0x8825, LONG, 8)]),
    "huge counts of numbers": huge_counts(LONG),
    "huge counts of fractions": jpeg_with([b"Exif\0\0" + huge_counts(RATIONAL)]),
    "huge counts of bytes": encoded(four_corners(), "PNG", exif=huge_counts(UNDEFINED)),
    "huge texts": webp_with({b"EXIF": huge_counts(ASCII)}),
    "a text that unpacks to a gigabyte": png((b"zTXt", b"Comment\0\0" + zlib.compress(bytes(1 << 28)) * 4)),
    "a profile that unpacks to a gigabyte": png((b"iCCP", b"icc\0\0" + zlib.compress(bytes(1 << 28)) * 4)),
    "a giant profile": png((b"iCCP", b"icc\0\0" + zlib.compress(giant_profile()))),
    "ten thousand chunks": png(*[(b"tEXt", b"a\0b")] * 10_000),
    "a million strips": many_strips(),
    "a JPEG of 65,500 x 65,500": jpeg_of(65500, 65500),
    "a JPEG of 65,500 x 1": jpeg_of(65500, 1),
    "a JPEG of nothing but fill bytes": b"\xff\xd8" + b"\xff" * 10_000_000,
    "a raw photo of nothing but beginnings": raw_tiff(b"\xff\xd8\xff\xe0\0\2" * 500_000),
    "a frame outside its canvas": frames_outside(),
    "three thousand scans": endless_scans(),
    "a hundred thousand frames": many_frames(),
    "a PNG of 65,000 x 65,000": png_header(65000, 65000),
    "a box in a box in a box": box(b"ftyp", b"heic\0\0\0\0mif1heic")
    + box(b"meta", b"\0" * 4, box(b"iinf") * 90_000),
    "an item of endless pieces": box(b"ftyp", b"avif\0\0\0\0mif1avif")
    + box(b"meta", b"\0" * 4, box(b"iloc", b"\0\0\0\0\x44\0\xff\xff" + b"\0\1\0\0\xff\xff" * 60_000)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_file_ends_soon(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "photo").write_bytes(ATTACKS[name])
    for job, options in ((render, {"max_pixels": 250_000_000}), (read_exif, {})):
        try:
            sandbox.call(job, tmp_path / "photo", time_limit_s=LIMIT_S, **options)
        except ImagingError as error:
            if error.transient:
                raise


def test_the_jpeg_with_the_longest_sides_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "photo").write_bytes(jpeg_of(65500, 65500))
    with pytest.raises(TooManyPixels):
        render(tmp_path / "photo", max_pixels=250_000_000)
