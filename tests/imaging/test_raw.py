"""Raw photos of every kind: containers as the cameras write them, made by hand around a picture of ours."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from imaging import jpeg
from imaging.errors import TruncatedImage, UnsupportedFormat
from imaging.exif import read_exif
from imaging.formats import HEAD_BYTES, sniff
from imaging.preview import render
from imaging.results import Rendering
from tests.imaging.pictures import (
    LONG,
    RATIONAL,
    SHORT,
    cr3,
    encoded,
    exif,
    four_corners,
    jpeg_with,
    noise,
    raf,
    raw_tiff,
)
from tests.imaging.test_preview import STORED, assert_upright, shown

PREVIEW = encoded(four_corners(1500, 1000), "JPEG")
THUMBNAIL = encoded(Image.new("RGB", (160, 120)), "JPEG")
KINDS: dict[str, tuple[Callable[..., bytes], dict[str, Any]]] = {
    "image/x-nikon-nef": (raw_tiff, {}),
    "image/x-sony-arw": (raw_tiff, {"make": "SONY"}),
    "image/x-adobe-dng": (raw_tiff, {"more": [(0xC612, LONG, 0x401)]}),
    "image/x-olympus-orf": (raw_tiff, {"make": "OLYMPUS", "magic": b"IIRO"}),
    "image/x-panasonic-rw2": (raw_tiff, {"make": "Panasonic", "magic": b"IIU\0"}),
    "image/x-pentax-pef": (raw_tiff, {"make": "PENTAX"}),
    "image/x-canon-cr3": (cr3, {}),
    "image/x-fuji-raf": (raf, {}),
}


def rendered(path: Path, data: bytes) -> Rendering:
    path.write_bytes(data)
    return render(path, max_pixels=250_000_000)


@pytest.mark.parametrize("media_type", KINDS)
def test_the_preview_is_shown_and_the_size_is_the_raws(tmp_path: Path, media_type: str) -> None:
    build, options = KINDS[media_type]
    data = build(PREVIEW, **options)
    assert sniff(data[:HEAD_BYTES]) == media_type
    rendering = rendered(tmp_path / "photo", data)
    assert_upright(rendering, 6000, 4000)
    assert shown(rendering).size == (1500, 1000)
    assert rendering.warnings == ()


def canon_cr2(preview: bytes) -> bytes:
    data = raw_tiff(preview, make="Canon", more=[(0x100, SHORT, 1500), (0x101, SHORT, 1000)])
    moved = 8  # the mark stands between the header and the first directory
    for tag in (0x10F, 0x110, 0x8769):
        at = data.index(tag.to_bytes(2, "little"), 10) + 8
        place = int.from_bytes(data[at : at + 4], "little") + moved
        data = data[:at] + place.to_bytes(4, "little") + data[at + 4 :]
    return data[:4] + (16).to_bytes(4, "little") + b"CR\2\0\0\0\0\0" + data[8:]


def test_a_canon_cr2_is_shown(tmp_path: Path) -> None:
    data = canon_cr2(PREVIEW)
    assert sniff(data[:HEAD_BYTES]) == "image/x-canon-cr2"
    assert shown(rendered(tmp_path / "photo", data)).size == (1500, 1000)


@pytest.mark.parametrize("orientation", STORED)
def test_a_raw_photo_is_turned_by_its_own_orientation(tmp_path: Path, orientation: int) -> None:
    turn = STORED[orientation]
    picture = four_corners(1500, 1000)
    picture = picture.transpose(turn) if turn is not None else picture
    size = (4000, 6000) if orientation >= 5 else (6000, 4000)
    # what the preview inside says doesn't count
    preview = jpeg_with([b"Exif\0\0" + exif([(0x112, SHORT, 3)])], picture)
    for data in (raw_tiff(preview, size=size, orientation=orientation), cr3(preview, size, orientation)):
        assert_upright(rendered(tmp_path / "photo", data), 6000, 4000)


def test_a_raf_is_turned_as_its_jpeg_says(tmp_path: Path) -> None:
    picture = four_corners(1500, 1000).transpose(Image.Transpose.ROTATE_90)
    preview = jpeg_with([b"Exif\0\0" + exif([(0x112, SHORT, 6)])], picture)
    assert_upright(rendered(tmp_path / "photo", raf(preview, (4000, 6000))), 6000, 4000)


@pytest.mark.parametrize("media_type", KINDS)
def test_a_thumbnail_alone_is_refused(tmp_path: Path, media_type: str) -> None:
    build, options = KINDS[media_type]
    with pytest.raises(UnsupportedFormat, match="without a preview"):
        rendered(tmp_path / "photo", build(THUMBNAIL, **options))


def test_the_largest_of_several_previews_is_shown(tmp_path: Path) -> None:
    data = raw_tiff(THUMBNAIL + PREVIEW + encoded(Image.new("RGB", (640, 480)), "JPEG"))
    assert_upright(rendered(tmp_path / "photo", data), 6000, 4000)


def test_the_tiles_of_lossy_sensor_data_are_no_preview(tmp_path: Path) -> None:
    def build(places: list[int]) -> bytes:
        return raw_tiff(
            tile + PREVIEW, more=[(0xC612, LONG, 0x401), (0x144, LONG, places), (0x145, LONG, [9, 9])]
        )

    tile = encoded(noise(2000, 2000), "JPEG")
    start = build([0, 0]).index(tile)
    assert_upright(rendered(tmp_path / "photo", build([start, start])), 6000, 4000)


def test_a_dng_has_the_size_that_its_crop_says(tmp_path: Path) -> None:
    crop = (0xC620, RATIONAL, [5984, 3976])
    # the sensor's directory, which holds the crop, is the first one here
    data = raw_tiff(PREVIEW, more=[(0xC612, LONG, 0x401), crop]).replace(
        b"\xfe\0\4\0\1\0\0\0\1", b"\xfe\0\4\0\1\0\0\0\0"
    )
    assert_upright(rendered(tmp_path / "photo", data), 5984, 3976)


def test_a_full_size_preview_says_the_size_better_than_the_sensor(tmp_path: Path) -> None:
    assert_upright(rendered(tmp_path / "photo", raw_tiff(PREVIEW, size=(1520, 1012))), 1500, 1000)


def test_a_raw_photo_cut_behind_its_preview_is_shown_and_said_to_be_cut(tmp_path: Path) -> None:
    data = raw_tiff(PREVIEW, more=[(0x111, LONG, 1000), (0x117, LONG, 10_000_000)])
    assert rendered(tmp_path / "photo", data).warnings == ("truncated",)
    data = cr3(PREVIEW)
    assert rendered(tmp_path / "photo", data[:-500]).warnings == ("truncated",)
    assert rendered(tmp_path / "photo", raf(PREVIEW)[:-10]).warnings == ("truncated",)


def test_a_raw_photo_cut_before_its_preview_is_truncated(tmp_path: Path) -> None:
    for data in (cr3(PREVIEW), raf(PREVIEW)):
        with pytest.raises(TruncatedImage):
            rendered(tmp_path / "photo", data[: data.index(PREVIEW)])


@pytest.mark.parametrize("media_type", KINDS)
def test_the_metadata_of_a_raw_photo_is_read(tmp_path: Path, media_type: str) -> None:
    build, options = KINDS[media_type]
    block = exif([(0x112, SHORT, 1)], [(0x8827, SHORT, 400)])
    (tmp_path / "photo").write_bytes(
        build(jpeg_with([b"Exif\0\0" + block], four_corners(1500, 1000)), **options)
    )
    fields = read_exif(tmp_path / "photo").fields
    assert (fields["iso"], fields["orientation"]) == (400, 1)
    if build is raw_tiff:
        assert fields["make"] == options.get("make", "NIKON CORPORATION")
    if build is cr3:
        assert (fields["make"], fields["latitude"], fields["longitude"]) == ("Canon", -48.5, 9)


def test_a_directory_beyond_the_head_is_still_seen(tmp_path: Path) -> None:
    data = exif([(0xC612, LONG, 0x401)])
    far = data[:4] + (9008).to_bytes(4, "little") + bytes(9000) + data[8:]
    assert sniff(far[:HEAD_BYTES]) == "image/tiff"
    with pytest.raises(UnsupportedFormat, match="raw photo without a preview"):
        rendered(tmp_path / "photo", far)


def test_no_metadata_of_the_preview_is_left(tmp_path: Path) -> None:
    preview = jpeg_with([b"Exif\0\0" + exif([(0x10E, 2, "at home")])], four_corners(1500, 1000))
    for made in rendered(tmp_path / "photo", raw_tiff(preview)).previews:
        assert b"at home" not in made.data
        assert "exif" not in Image.open(io.BytesIO(made.data)).info


def test_a_file_cut_in_the_head_of_its_preview_has_no_frame() -> None:
    # found by fuzzing: the marker and its length are there, the header behind them is not
    assert jpeg.frame(io.BytesIO(b"\xff\xd8\xff\xc0\x00\x11\x08\x00")) is None
