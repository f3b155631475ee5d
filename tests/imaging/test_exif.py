import io
import json
import random
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pillow_heif
import pytest
from PIL import Image

from imaging.errors import NotAnImage
from imaging.exif import read_exif
from imaging.results import Metadata
from tests.imaging.pictures import (
    ASCII,
    LONG,
    RATIONAL,
    SHORT,
    SRATIONAL,
    UNDEFINED,
    Entry,
    cr3,
    encoded,
    exif,
    four_corners,
    jpeg_with,
    png_of,
    raf,
    raw_tiff,
    webp_with,
)

TAKEN = (0x9003, ASCII, "2024:05:06 07:08:09")
BLOCK = exif(
    [(0x10F, ASCII, "Acme"), (0x110, ASCII, "Box 1"), (0x112, SHORT, 6)],
    [TAKEN, (0x829A, RATIONAL, Fraction(1, 250)), (0x829D, RATIONAL, Fraction(28, 10)), (0x8827, SHORT, 400)],
)


def read(path: Path, data: bytes) -> Metadata:
    path.write_bytes(data)
    return read_exif(path)


def fields(
    tmp_path: Path,
    main: list[Entry],
    photo: list[Entry] | None = None,
    gps: list[Entry] | None = None,
    order: str = "<",
) -> dict[str, Any]:
    """Read the fields of a JPEG with an EXIF block made of the given entries."""
    return read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + exif(main, photo, gps, order)])).fields


def assert_is_the_block(metadata: Metadata) -> None:
    found = {name: value for name, value in metadata.fields.items() if value is not None}
    assert found == {
        "make": "Acme",
        "model": "Box 1",
        "orientation": 6,
        "taken_at": "2024-05-06T07:08:09",
        "exposure_time_s": 0.004,
        "f_number": 2.8,
        "iso": 400,
    }


def test_a_jpeg_is_read_behind_large_segments(tmp_path: Path) -> None:
    segments = [b"http://ns.adobe.com/xap/1.0/\0" + b"x" * 60_000, b"y" * 65_000, b"Exif\0\0" + BLOCK]
    assert_is_the_block(read(tmp_path / "photo", jpeg_with(segments)))


def test_both_byte_orders_are_read(tmp_path: Path) -> None:
    assert fields(tmp_path, [(0x10F, ASCII, "Acme")], [(0x8827, SHORT, 50)], order=">")["iso"] == 50


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_other_containers_are_read(tmp_path: Path, kind: str) -> None:
    assert_is_the_block(read(tmp_path / "photo", encoded(four_corners(), kind, exif=BLOCK)))


def test_heif_containers_are_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    pillow_heif.from_pillow(four_corners()).save(out, exif=b"Exif\0\0" + BLOCK)
    # Pillow moves the orientation of an AVIF from its EXIF into the container
    for data in (out.getvalue(), encoded(four_corners(), "AVIF", exif=BLOCK)):
        found = read(tmp_path / "photo", data).fields
        assert (found["make"], found["iso"], found["taken_at"]) == ("Acme", 400, "2024-05-06T07:08:09")


def test_a_tiff_is_its_own_block(tmp_path: Path) -> None:
    data = encoded(four_corners(), "TIFF", tiffinfo={0x10F: "Acme", 0x112: 3})
    found = read(tmp_path / "photo", data).fields
    assert (found["make"], found["orientation"]) == ("Acme", 3)


@pytest.mark.parametrize("prefix", [b"", b"Exif\0\0"])
def test_a_webp_is_read_with_and_without_the_prefix_and_flags(tmp_path: Path, prefix: bytes) -> None:
    assert_is_the_block(read(tmp_path / "photo", webp_with({b"ICCP": b"odd", b"EXIF": prefix + BLOCK})))


@pytest.mark.parametrize("kind", ["GIF", "BMP", "JPEG", "PNG", "WEBP", "AVIF"])
def test_a_photo_without_exif_gives_every_field_as_none(tmp_path: Path, kind: str) -> None:
    metadata = read(tmp_path / "photo", encoded(Image.new("RGB", (16, 16)), kind))
    assert set(metadata.fields.values()) == {None}
    assert {"make", "lens", "taken_at", "taken_at_offset", "latitude", "altitude_m"} <= metadata.fields.keys()
    assert metadata.raw == {}


def test_what_is_no_picture_has_no_metadata(tmp_path: Path) -> None:
    with pytest.raises(NotAnImage):
        read(tmp_path / "photo", b"dear diary")


def test_texts_end_at_the_first_nul_and_lose_their_blanks(tmp_path: Path) -> None:
    found = fields(
        tmp_path, [(0x10F, ASCII, b"  Acme \0rubbish\0"), (0x110, ASCII, b"   \0"), (0x131, ASCII, b"")]
    )
    assert (found["make"], found["model"], found["software"]) == ("Acme", None, None)


def test_a_text_that_is_not_utf8_is_latin_1(tmp_path: Path) -> None:
    assert fields(tmp_path, [(0x13B, ASCII, b"J\xfcrgen\0")])["artist"] == "Jürgen"
    assert fields(tmp_path, [(0x13B, ASCII, "Jürgen")])["artist"] == "Jürgen"


@pytest.mark.parametrize(
    ("entries", "taken_at", "offset"),
    [
        ([TAKEN], "2024-05-06T07:08:09", None),
        ([TAKEN, (0x9291, ASCII, "07")], "2024-05-06T07:08:09.07", None),
        (
            [TAKEN, (0x9291, ASCII, "123"), (0x9011, ASCII, "-04:30")],
            "2024-05-06T07:08:09.123-04:30",
            "-04:30",
        ),
        ([TAKEN, (0x9011, ASCII, "   :  ")], "2024-05-06T07:08:09", None),
        ([TAKEN, (0x9291, ASCII, "x1")], "2024-05-06T07:08:09", None),
        ([(0x9003, ASCII, "0000:00:00 00:00:00")], None, None),
        ([(0x9003, ASCII, " "), (0x9004, ASCII, "2020:02:29 01:02:03")], "2020-02-29T01:02:03", None),
        ([(0x9003, ASCII, "    :  :     :  :  "), (0x9004, ASCII, "2021:02:29 01:02:03")], None, None),
        ([(0x9003, ASCII, "yesterday")], None, None),
    ],
)  # fmt: skip
def test_when_it_was_taken(
    tmp_path: Path, entries: list[Entry], taken_at: str | None, offset: str | None
) -> None:
    found = fields(tmp_path, [], entries)
    assert (found["taken_at"], found["taken_at_offset"]) == (taken_at, offset)


def test_the_offset_of_another_date_is_not_borrowed(tmp_path: Path) -> None:
    found = fields(tmp_path, [], [TAKEN, (0x9012, ASCII, "+09:00")])
    assert found["taken_at"] == "2024-05-06T07:08:09"


@pytest.mark.parametrize(
    ("ref", "degrees", "want"),
    [
        ("N", [48, 30, 36], 48.51),
        ("S", [48, 30, 36], -48.51),
        ("s", [48, 30, 36], -48.51),
        ("N", [Fraction(4851, 100), 0, 0], 48.51),
        ("N", [48, Fraction(306, 10), 0], 48.51),
        ("N", [91, 0, 0], None),
        ("N", [(48, 0), 0, 0], None),
        ("N", [(0, 0), (0, 0), (0, 0)], None),
        ("", [48, 30, 36], None),
    ],
)
def test_latitude(tmp_path: Path, ref: str, degrees: list[Any], want: float | None) -> None:
    gps = [(1, ASCII, ref), (2, RATIONAL, degrees), (3, ASCII, "W"), (4, RATIONAL, [0, 0, 15])]
    found = fields(tmp_path, [], [], gps)
    assert found["latitude"] == pytest.approx(want)
    # half a place is none; 15 seconds west stay west though the degrees are 0
    assert found["longitude"] == (pytest.approx(-15 / 3600) if want else None)


@pytest.mark.parametrize(
    ("ref", "metres", "want"),
    [(0, 12, 12), (1, Fraction(5, 2), -2.5), (1, 0, 0), (None, 7, 7), (0, (1, 0), None)],
)
def test_altitude(tmp_path: Path, ref: int | None, metres: Any, want: float | None) -> None:
    gps = [(6, RATIONAL, metres)] + ([(5, 1, ref)] if ref is not None else [])
    assert fields(tmp_path, [], [], gps)["altitude_m"] == want


@pytest.mark.parametrize(
    ("entry", "name", "want"),
    [
        ((0x829A, RATIONAL, (1, 0)), "exposure_time_s", None),
        ((0x829A, RATIONAL, (0, 1)), "exposure_time_s", None),
        ((0x829A, RATIONAL, (30, 1)), "exposure_time_s", 30),
        ((0x829D, RATIONAL, (0, 0)), "f_number", None),
        ((0x8827, SHORT, [200, 0]), "iso", 200),
        ((0x8827, SHORT, 0), "iso", None),
        ((0x9204, SRATIONAL, (-2, 3)), "exposure_bias_ev", pytest.approx(-2 / 3)),
        ((0x9209, SHORT, 0x10), "flash_fired", False),
        ((0x9209, SHORT, 0x19), "flash_fired", True),
        ((0xA403, SHORT, 1), "white_balance", "manual"),
        ((0x9207, SHORT, 5), "metering_mode", "pattern"),
        ((0x9207, SHORT, 77), "metering_mode", None),
        ((0x8822, SHORT, 3), "exposure_program", "aperture priority"),
        ((0xA405, SHORT, 28), "focal_length_35mm_mm", 28),
        ((0xA434, ASCII, "50mm F1.4"), "lens", "50mm F1.4"),
    ],
)
def test_one_tag_one_field(tmp_path: Path, entry: Entry, name: str, want: object) -> None:
    assert fields(tmp_path, [], [entry])[name] == want


def test_an_iso_beyond_16_bits_comes_from_its_own_tag(tmp_path: Path) -> None:
    assert fields(tmp_path, [], [(0x8827, SHORT, 65535), (0x8832, LONG, 102_400)])["iso"] == 102_400
    assert fields(tmp_path, [], [(0x8827, SHORT, 65535)])["iso"] == 65535


def test_raw_tags_are_json_that_postgresql_takes(tmp_path: Path) -> None:
    block = exif(
        [(0x10E, ASCII, b"a\0b"), (0x13B, ASCII, "x" * 5000), (0xC4A5, UNDEFINED, bytes(range(256)) * 20)],
        [(0x9000, UNDEFINED, b"0232"), (0x829A, RATIONAL, (1, 0)), (0x9214, SHORT, list(range(500)))],
    )
    raw = read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block])).raw
    text = json.dumps(raw, allow_nan=False)
    assert "\\u0000" not in text
    assert raw["Image ImageDescription"] == "a"
    assert raw["EXIF ExifVersion"] == "0232"
    assert raw["EXIF ExposureTime"] is None
    assert "Image PrintIM" not in raw
    artist, area = raw["Image Artist"], raw["EXIF SubjectArea"]
    assert isinstance(artist, str)
    assert len(artist) == 1001
    assert artist.endswith("…")
    assert isinstance(area, list)
    assert area == [*range(64), "…"]


def test_the_texts_of_windows_explorer_are_read(tmp_path: Path) -> None:
    title, author = ("Ferien in Zürich".encode("utf-16-le") + b"\0\0", "Eva".encode("utf-16-le"))
    entries: list[Entry] = [(0x9C9B, 1, list(title)), (0x9C9D, 1, list(author))]
    metadata = read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + exif(entries)]))
    assert (metadata.fields["description"], metadata.fields["artist"]) == ("Ferien in Zürich", "Eva")
    assert metadata.raw["Image XPTitle"] == "Ferien in Zürich"
    both = exif([*entries, (0x13B, ASCII, "Ada")])
    assert read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + both])).fields["artist"] == "Ada"


def test_a_broken_tag_costs_no_other(tmp_path: Path) -> None:
    # a GPS directory that points nowhere, and a type that doesn't exist
    block = exif([(0x10F, ASCII, "Acme"), (0x8825, LONG, 4_000_000_000), (0x9999, 99, 7)], [TAKEN])
    found = read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block])).fields
    assert (found["make"], found["taken_at"]) == ("Acme", "2024-05-06T07:08:09")


def test_a_hostile_block_is_given_up_soon(tmp_path: Path) -> None:
    # 5,000 tags that each hold the same 999 fractions
    many = [(0x1000 + number, RATIONAL, [Fraction(1, 3)] * 999) for number in range(8)]
    entry = exif(many)[10:22]
    block = b"II*\0\x08\0\0\0" + (5000).to_bytes(2, "little") + entry * 5000
    started = time.process_time()
    read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block.ljust(65_000, b"\1")]))
    assert time.process_time() - started < 8  # without a bound 12 to 40


def test_any_bytes_in_the_block_give_a_result(tmp_path: Path) -> None:
    rng = random.Random(4)
    for _ in range(100):
        block = bytearray(BLOCK)
        for _ in range(rng.randint(1, 12)):
            block[rng.randrange(4, len(block))] = rng.randrange(256)
        metadata = read(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block], Image.new("L", (8, 8))))
        json.dumps([metadata.fields, metadata.raw], allow_nan=False)


LONG_TAIL = bytes(20_000_000)


@pytest.mark.parametrize(
    "data",
    [
        jpeg_with([b"Exif\0\0" + BLOCK]) + LONG_TAIL,
        raw_tiff(LONG_TAIL),
        cr3(LONG_TAIL),
        raf(jpeg_with([b"Exif\0\0" + BLOCK]) + LONG_TAIL),
        webp_with({b"EXIF": BLOCK, b"LONG": LONG_TAIL}),
        png_of(8, 8, depth=8, colour_type=0, rows=[b"1" * 9] * 8) + LONG_TAIL,
    ],
    ids=["JPEG", "NEF", "CR3", "RAF", "WebP", "PNG"],
)
def test_only_the_headers_are_read(tmp_path: Path, data: bytes) -> None:
    read(tmp_path / "photo", data)  # so that what is imported when first needed doesn't count
    before = bytes_read()
    read_exif(tmp_path / "photo")
    assert bytes_read() - before < 600_000


def bytes_read() -> int:
    """How much this process has read so far, by the kernel's count."""
    status = Path("/proc/self/io")
    if not status.exists():
        pytest.skip("only Linux counts it")
    return int(status.read_text().split()[1])
