"""Colour spaces, depths and channels of every kind, to sRGB on white."""

import io
import struct
from pathlib import Path
from typing import Any

import pillow_heif
import pytest
from PIL import Image

from imaging import cicp
from imaging.cicp import Primaries
from imaging.colour import to_srgb
from tests.imaging.pictures import LONG, SHORT, box, chunk, encoded, exif, four_corners, png_of
from tests.imaging.test_preview import assert_close, assert_upright, at, heic, rendered, shown

RED = (255, 0, 0)
DISPLAY_P3: Primaries = (0.680, 0.320, 0.265, 0.690, 0.150, 0.060)
ADOBE_RGB: Primaries = (0.640, 0.330, 0.210, 0.710, 0.150, 0.060)
PROPHOTO: Primaries = (0.7347, 0.2653, 0.1596, 0.8404, 0.0366, 0.0001)
D50 = (0.3457, 0.3585)


def gamma(exponent: float) -> Any:
    return lambda value: value**exponent


# each with what the red of sRGB is in it
SPACES = {
    "Display P3": (cicp.icc(DISPLAY_P3, cicp.srgb), (234, 51, 35)),
    "Adobe RGB": (cicp.icc(ADOBE_RGB, gamma(2.2)), (219, 0, 0)),
    "ProPhoto RGB": (cicp.icc(PROPHOTO, gamma(1.8), D50), (179, 70, 26)),
}


def colour(path: Path, data: bytes) -> tuple[int, ...]:
    return at(shown(rendered(path, data)), 0.5, 0.5)


def heif(picture: Image.Image, **options: Any) -> bytes:
    out = io.BytesIO()
    pillow_heif.from_pillow(picture).save(out, quality=95, **options)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize("space", SPACES)
def test_every_profile_is_converted(tmp_path: Path, space: str, kind: str) -> None:
    icc, red = SPACES[space]
    assert_close(
        colour(tmp_path / "photo", encoded(Image.new("RGB", (64, 48), red), kind, icc_profile=icc)), RED, 10
    )


def test_the_profile_of_a_heic_is_converted(tmp_path: Path) -> None:
    icc, red = SPACES["Display P3"]
    picture = Image.new("RGB", (64, 64), red)
    picture.info["icc_profile"] = icc
    assert_close(colour(tmp_path / "photo", heif(picture)), RED, 10)


def gray_profile(exponent: float) -> bytes:
    """A grey profile of one curve (ICC.1:2001, 6.3.1.1)."""
    rgb = SPACES["Display P3"][0]
    curve = b"curv" + struct.pack(">2IH", 0, 1, round(exponent * 256))
    tags = [(b"wtpt", rgb[rgb.index(b"XYZ \0", 128) :][:20]), (b"kTRC", curve)]
    places, data = b"", b""
    for name, content in tags:
        places += name + struct.pack(">2I", 128 + 4 + 24 + len(data), len(content))
        data += content
    body = struct.pack(">I", 2) + places + data
    return struct.pack(">I", 128 + len(body)) + rgb[4:16] + b"GRAY" + rgb[20:128] + body


def test_the_profile_of_a_grey_picture_is_converted(tmp_path: Path) -> None:
    data = encoded(Image.new("L", (64, 48), 55), "JPEG", icc_profile=gray_profile(1))
    assert_close(colour(tmp_path / "photo", data), (128, 128, 128), 4)


def cmyk_profile() -> bytes:
    """A profile in which cyan ink is red: a table of 2 x 2 x 2 x 2 Lab colours (ICC.1:2001, 6.5.8)."""
    identity = bytes(range(256))
    table = b"".join(bytes((136, 208, 195)) if number & 8 else bytes((255, 128, 128)) for number in range(16))
    matrix = struct.pack(">9i", *(65536 if at % 4 == 0 else 0 for at in range(9)))
    lut = b"mft1" + bytes(4) + bytes((4, 3, 2, 0)) + matrix + identity * 4 + table + identity * 3
    rgb = SPACES["Display P3"][0]
    body = struct.pack(">I", 1) + b"A2B0" + struct.pack(">2I", 144, len(lut)) + lut
    return struct.pack(">I", 128 + len(body)) + rgb[4:12] + b"prtrCMYKLab " + rgb[24:128] + body


def test_the_profile_of_a_cmyk_picture_is_converted(tmp_path: Path) -> None:
    picture = Image.new("CMYK", (64, 48), (255, 0, 0, 0))
    for kind in ("JPEG", "TIFF"):
        data = encoded(picture, kind, icc_profile=cmyk_profile())
        assert_close(colour(tmp_path / "photo", data), RED, 20)


def test_cmyk_is_inverted_only_where_adobe_wrote_it(tmp_path: Path) -> None:
    by_adobe = encoded(Image.new("CMYK", (64, 48), (0, 255, 255, 0)), "JPEG")  # with the Adobe marker
    assert_close(colour(tmp_path / "photo", by_adobe), RED, 40)
    # what Pillow inverts as it writes is as it should be once the marker is gone
    data = encoded(Image.new("CMYK", (64, 48), (255, 0, 0, 255)), "JPEG")
    start = data.index(b"\xff\xeeAdobe"[:2])
    plain = data[:start] + data[start + 2 + int.from_bytes(data[start + 2 : start + 4], "big") :]
    assert_close(colour(tmp_path / "photo", plain), RED, 40)


def test_ycck_is_shown(tmp_path: Path) -> None:
    # red in CMYK is cyan in the inverse, which is 179, 171, 1 in YCbCr; Pillow inverts as it writes
    data = encoded(Image.new("CMYK", (64, 48), (76, 84, 254, 0)), "JPEG", quality=100, subsampling=0)
    transform = data.index(b"Adobe") + 11
    assert_close(colour(tmp_path / "photo", data[:transform] + b"\2" + data[transform + 1 :]), RED, 40)


@pytest.mark.parametrize("kind", ["HEIC", "AVIF"])
def test_a_colour_space_by_numbers_is_converted(tmp_path: Path, kind: str) -> None:
    picture = Image.new("RGB", (64, 64), SPACES["Display P3"][1])
    data = heif(picture) if kind == "HEIC" else encoded(picture, "AVIF", quality=95)
    start = data.index(b"colrnclx") + 8
    p3 = data[:start] + struct.pack(">2H", 12, 13) + data[start + 4 :]
    assert_close(colour(tmp_path / "photo", p3), RED, 12)


def test_the_numbers_of_a_png_count_more_than_its_profile(tmp_path: Path) -> None:
    red = SPACES["Display P3"][1]
    data = encoded(Image.new("RGB", (64, 48), red), "PNG", icc_profile=SPACES["ProPhoto RGB"][0])
    data = data[:33] + chunk(b"cICP", bytes((12, 13, 0, 1))) + data[33:]
    assert_close(colour(tmp_path / "photo", data), RED, 8)


@pytest.mark.parametrize("transfer", [16, 18])
def test_high_dynamic_range_is_pressed_not_clipped(transfer: int) -> None:
    profile = cicp.profile(9, transfer)
    assert profile is not None
    grey = [_shown_grey(profile, value) for value in range(0, 256, 15)]
    assert grey == sorted(grey)
    assert grey[0] == 0
    # diffuse white stays below the highlights, and is light
    white = _shown_grey(profile, 148 if transfer == 16 else 191)
    assert 200 < white < _shown_grey(profile, 180 if transfer == 16 else 225)


def _shown_grey(profile: bytes, value: int) -> int:
    return to_srgb(Image.new("RGB", (1, 1), (value,) * 3), profile).tobytes()[1]


def test_a_space_as_good_as_srgb_costs_nothing() -> None:
    for numbers in ((1, 13), (2, 2), (1, 1), (6, 6), (99, 99)):
        assert cicp.profile(*numbers) is None


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_sixteen_bit_pngs_are_scaled(tmp_path: Path, channels: int) -> None:
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    levels = {
        1: [0x8000],
        2: [0x8000, 0xFFFF],
        3: [0x8000, 0x4000, 0xC000],
        4: [0x8000, 0x4000, 0xC000, 0xFFFF],
    }
    pixel = struct.pack(f">{channels}H", *levels[channels])
    data = png_of(64, 48, depth=16, colour_type=colour_type, rows=[pixel * 64] * 48)
    want = (128, 64, 192) if channels > 2 else (128, 128, 128)
    assert_close(colour(tmp_path / "photo", data), want, 4)


def test_a_sixteen_bit_colour_tiff_is_scaled(tmp_path: Path) -> None:
    pixels = struct.pack("<3H", 0x8000, 0x4000, 0xC000) * 64 * 48

    def header(start: int) -> bytes:
        entries: list[Any] = [
            (0x100, LONG, 64),
            (0x101, LONG, 48),
            (0x102, SHORT, [16] * 3),
            (0x103, SHORT, 1),
        ]
        entries += [(0x106, SHORT, 2), (0x111, LONG, start), (0x115, SHORT, 3), (0x116, LONG, 48)]
        return exif([*entries, (0x117, LONG, len(pixels))])

    data = header(len(header(0))) + pixels
    assert_close(colour(tmp_path / "photo", data), (128, 64, 192), 4)


def test_ten_bits_are_scaled(tmp_path: Path) -> None:
    pixels = struct.pack("<3H", 0x8000, 0x4000, 0xC000) * 64 * 64
    out = io.BytesIO()
    pillow_heif.from_bytes(mode="RGB;16", size=(64, 64), data=pixels).save(out, quality=95)
    assert_close(colour(tmp_path / "photo", out.getvalue()), (128, 64, 192), 6)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_a_grey_png_of_few_levels_is_scaled(tmp_path: Path, depth: int) -> None:
    data = png_of(64, 48, depth=depth, colour_type=0, rows=[b"\xff" * (64 * depth // 8)] * 48)
    assert_close(colour(tmp_path / "photo", data), (255, 255, 255), 1)


def test_half_transparent_pixels_are_mixed_with_white(tmp_path: Path) -> None:
    half = Image.new("RGBA", (64, 48), (0, 0, 0, 128))
    for kind in ("PNG", "WEBP", "TIFF", "AVIF"):
        assert_close(colour(tmp_path / "photo", encoded(half, kind)), (127, 127, 127), 6)


def test_a_palette_with_transparency_is_put_on_white(tmp_path: Path) -> None:
    picture = Image.new("P", (64, 48), 1)
    picture.putpalette([0, 0, 0, 0, 0, 0, 255, 0, 0])
    picture.paste(2, (0, 0, 32, 48))
    got = shown(rendered(tmp_path / "photo", encoded(picture, "PNG", transparency=1)))
    assert_close(at(got, 0.2, 0.5), RED, 6)
    assert_close(at(got, 0.8, 0.5), (255, 255, 255), 3)


def test_a_gif_whose_first_frame_is_a_part_of_its_canvas_is_composed(tmp_path: Path) -> None:
    data = bytearray(encoded(Image.new("RGB", (32, 48), RED), "GIF"))
    data[6:10] = struct.pack("<2H", 64, 48)
    rendering = rendered(tmp_path / "photo", bytes(data))
    assert (rendering.width, rendering.height) == (64, 48)
    assert_close(at(shown(rendering), 0.2, 0.5), RED, 6)


def test_the_first_picture_of_several_is_shown(tmp_path: Path) -> None:
    other = Image.new("L", (600, 400), 90)
    for kind in ("MPO", "TIFF"):
        assert_upright(
            rendered(
                tmp_path / "photo", encoded(four_corners(), kind, save_all=True, append_images=[other.copy()])
            )
        )
    # a gain map behind the picture, whether the file says so or not
    gain_map = encoded(other, "JPEG")
    assert_upright(rendered(tmp_path / "photo", encoded(four_corners(), "JPEG") + gain_map))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"progressive": True}),
        ("JPEG", {"restart_marker_rows": 1}),
        ("JPEG", {"subsampling": "4:1:1", "quality": 95}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("TIFF", {"compression": "packbits"}),
        ("TIFF", {"compression": "jpeg", "quality": 95}),
        ("TIFF", {"big_tiff": True}),
        ("WEBP", {"lossless": True}),
    ],
)
def test_uncommon_ways_to_store_a_picture_are_read(
    tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    assert_upright(rendered(tmp_path / "photo", encoded(four_corners(), kind, **options)))


def test_an_unknown_box_in_a_heic_changes_nothing(tmp_path: Path) -> None:
    assert_upright(rendered(tmp_path / "photo", heic(four_corners(), 1) + box(b"zzzz", b"0" * 99)))
