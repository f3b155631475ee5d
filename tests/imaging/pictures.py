"""Pictures and EXIF blocks made by the tests, byte by byte where it matters."""

import io
import struct
import zlib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 180, 60), (40, 60, 210), (240, 220, 40)
CORNERS = {(0.1, 0.1): RED, (0.9, 0.1): GREEN, (0.1, 0.9): BLUE, (0.9, 0.9): YELLOW}

ASCII, SHORT, LONG, RATIONAL, UNDEFINED, SRATIONAL = 2, 3, 4, 5, 7, 10
Entry = tuple[int, int, Any]


def four_corners(width: int = 600, height: int = 400) -> Image.Image:
    """A picture whose every corner has its own colour, so that any turn shows."""
    picture = Image.new("RGB", (width, height), "grey")
    draw = ImageDraw.Draw(picture)
    for (x, y), colour in CORNERS.items():
        left, top = (0 if x < 0.5 else width // 2), (0 if y < 0.5 else height // 2)
        draw.rectangle((left, top, left + width // 2, top + height // 2), fill=colour)
    return picture


def noise(width: int, height: int) -> Image.Image:
    """A picture that no codec can make small, so that bytes and rows run in step."""
    return Image.effect_noise((width, height), 90).convert("RGB")


def save(path: Path, picture: Image.Image, kind: str, **options: Any) -> Path:
    picture.save(path, kind, **options)
    return path


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def exif(
    main: list[Entry] | None = None,
    photo: list[Entry] | None = None,
    gps: list[Entry] | None = None,
    order: str = "<",
) -> bytes:
    """An EXIF block, TIFF header first: entries are (tag, type, value)."""
    main = list(main or [])
    pointers = [(tag, entries) for tag, entries in ((0x8769, photo), (0x8825, gps)) if entries is not None]
    start = 8
    size = _directory_size([*main, *((tag, LONG, 0) for tag, _ in pointers)])
    tail = b""
    for tag, entries in pointers:
        offset = start + size + len(tail)
        main.append((tag, LONG, offset))
        tail += _directory(entries, offset, order)
    magic = b"II*\0" if order == "<" else b"MM\0*"
    return magic + struct.pack(f"{order}I", start) + _directory(main, start, order) + tail


def _packed(kind: int, value: Any, order: str) -> tuple[int, bytes]:
    if kind in (ASCII, UNDEFINED):
        data = value if isinstance(value, bytes) else value.encode() + b"\0"
        return len(data), data
    values = value if isinstance(value, list) else [value]
    if kind in (RATIONAL, SRATIONAL):
        letter = "I" if kind == RATIONAL else "i"
        pairs = [(v.numerator, v.denominator) if isinstance(v, int | Fraction) else v for v in values]
        return len(pairs), b"".join(struct.pack(f"{order}2{letter}", *pair) for pair in pairs)
    letter = {SHORT: "H", LONG: "I"}.get(kind, "B")
    return len(values), struct.pack(f"{order}{len(values)}{letter}", *values)


def _directory_size(entries: list[Entry]) -> int:
    return len(_directory(entries, 0, "<"))


def _directory(entries: list[Entry], offset: int, order: str) -> bytes:
    fields, data = b"", b""
    data_at = offset + 2 + 12 * len(entries) + 4
    for tag, kind, value in sorted(entries, key=lambda entry: entry[0]):
        count, packed = _packed(kind, value, order)
        field = packed.ljust(4, b"\0")
        if len(packed) > 4:
            field = struct.pack(f"{order}I", data_at + len(data))
            data += packed + b"\0" * (len(packed) % 2)
        fields += struct.pack(f"{order}HHI", tag, kind, count) + field
    return struct.pack(f"{order}H", len(entries)) + fields + b"\0" * 4 + data


def jpeg_with(segments: list[bytes], picture: Image.Image | None = None) -> bytes:
    """A JPEG that starts with the given APP1 segments."""
    data = encoded(picture or four_corners(), "JPEG", quality=95)
    parts = [b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content for content in segments]
    return data[:2] + b"".join(parts) + data[2:]


def webp_with(chunks: Mapping[bytes, bytes], picture: Image.Image | None = None) -> bytes:
    """A WebP with further chunks behind the picture, and no VP8X flags for them."""
    body = encoded(picture or four_corners(), "WEBP", lossless=True)[12:]
    for name, content in chunks.items():
        body += name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width: int, height: int, *, depth: int, colour_type: int, rows: list[bytes]) -> bytes:
    """A PNG of rows as they are stored."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def png_header(width: int, height: int) -> bytes:
    """A PNG that announces a size and holds next to nothing."""
    return png_of(width, height, depth=8, colour_type=2, rows=[b""])


def striped_tiff(picture: Image.Image, rows_per_strip: int = 40) -> bytes:
    """A compressed TIFF whose directory stands before its strips, as scanners and editors write it."""
    width, height = picture.size
    data = picture.tobytes()
    step = 3 * width * rows_per_strip
    strips = [zlib.compress(data[at : at + step]) for at in range(0, len(data), step)]

    def header(offsets: list[int]) -> bytes:
        return exif(
            [
                (0x100, LONG, width),
                (0x101, LONG, height),
                (0x102, SHORT, [8, 8, 8]),
                (0x103, SHORT, 8),
                (0x106, SHORT, 2),
                (0x111, LONG, offsets),
                (0x115, SHORT, 3),
                (0x116, LONG, rows_per_strip),
                (0x117, LONG, [len(strip) for strip in strips]),
            ]
        )

    start = len(header([0] * len(strips)))
    offsets = [start + sum(map(len, strips[:number])) for number in range(len(strips))]
    return header(offsets) + b"".join(strips)


def raw_tiff(
    preview: bytes,
    *,
    make: str = "NIKON CORPORATION",
    size: tuple[int, int] = (6000, 4000),
    orientation: int = 1,
    magic: bytes = b"II*\0",
    more: list[Entry] | None = None,
) -> bytes:
    """A raw photo of the TIFF kind: a directory, EXIF, the sensor's size, a preview behind other bytes."""
    main = [
        (0xFE, LONG, 1),
        (0x10F, ASCII, make),
        (0x110, ASCII, "Box 1"),
        (0x112, SHORT, orientation),
        (0x14A, LONG, 8),
        *(more or []),
    ]
    photo = [(0x8827, SHORT, 400), (0xA002, LONG, size[0]), (0xA003, LONG, size[1])]
    return magic + exif(main, photo)[4:] + b"sensor\xff\xd8\xffdata" * 99 + preview + b"more sensor data" * 99


def raf(preview: bytes, size: tuple[int, int] = (6000, 4000)) -> bytes:
    """A Fujifilm RAF: a header that names the JPEG, the records and the sensor data."""
    record = struct.pack(">I2H2H", 1, 0x0111, 4, size[1], size[0])
    places = struct.pack(
        ">6I", 148, len(preview), 148 + len(preview), len(record), 148 + len(preview) + len(record), 16
    )
    return (
        (b"FUJIFILMCCD-RAW 0201".ljust(84, b"\0") + places).ljust(148, b"\0") + preview + record + bytes(16)
    )


def box(kind: bytes, *contents: bytes) -> bytes:
    """A box of the ISO base media format."""
    return struct.pack(">I", 8 + sum(map(len, contents))) + kind + b"".join(contents)


def cr3(preview: bytes, size: tuple[int, int] = (6000, 4000), orientation: int = 1) -> bytes:
    """A Canon CR3: EXIF in blocks of one directory each, the preview in the media data."""
    blocks = box(b"CMT1", exif([(0x10F, ASCII, "Canon"), (0x112, SHORT, orientation)]))
    photo = exif([(0x8827, SHORT, 400), (0xA002, LONG, size[0]), (0xA003, LONG, size[1])])
    blocks += box(b"CMT2", photo)
    blocks += box(
        b"CMT4",
        exif([(1, ASCII, "S"), (2, RATIONAL, [48, 30, 0]), (3, ASCII, "E"), (4, RATIONAL, [9, 0, 0])]),
    )
    uuid = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
    head = box(b"ftyp", b"crx \0\0\0\1crx isom") + box(b"moov", box(b"uuid", uuid, blocks))
    return head + box(b"mdat", preview, b"sensor data" * 99)
