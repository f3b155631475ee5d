import io
from pathlib import Path

import pillow_heif
import pytest
from PIL import Image, ImageCms, ImageFile, ImageFilter

from imaging.errors import CorruptImage, NotAnImage, TooManyPixels, TruncatedImage
from imaging.preview import render
from imaging.results import PREVIEW_SIZES, Preview, Rendering
from tests.imaging.pictures import (
    ASCII,
    CORNERS,
    LONG,
    SHORT,
    encoded,
    exif,
    four_corners,
    jpeg_with,
    noise,
    png_header,
    save,
    striped_tiff,
    webp_with,
)

MAX_PIXELS = 250_000_000
# from the upright picture to what is stored, for each orientation
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def shown(rendering: Rendering, size: str = "large") -> Image.Image:
    """Decode one preview."""
    preview = next(preview for preview in rendering.previews if preview.size == size)
    return Image.open(io.BytesIO(preview.data))


def at(picture: Image.Image, x: float, y: float) -> tuple[int, ...]:
    colour = picture.getpixel((int(x * picture.width), int(y * picture.height)))
    assert isinstance(colour, tuple)
    return colour


def assert_close(got: tuple[int, ...], want: tuple[int, ...], tolerance: int = 12) -> None:
    assert all(abs(a - b) <= tolerance for a, b in zip(got, want, strict=True)), f"{got} is not {want}"


def assert_upright(rendering: Rendering, width: int = 600, height: int = 400) -> None:
    assert (rendering.width, rendering.height) == (width, height)
    for size in PREVIEW_SIZES:
        for place, colour in CORNERS.items():
            assert_close(at(shown(rendering, size.name), *place), colour)


def rendered(path: Path, data: bytes) -> Rendering:
    path.write_bytes(data)
    return render(path, max_pixels=MAX_PIXELS)


def stored(orientation: int) -> Image.Image:
    turn = STORED[orientation]
    return four_corners().transpose(turn) if turn is not None else four_corners()


def test_one_preview_of_each_size_in_the_tables_order(tmp_path: Path) -> None:
    rendering = rendered(tmp_path / "photo", encoded(four_corners(3000, 2000), "JPEG"))
    assert [(p.size, p.width, p.height, p.media_type) for p in rendering.previews] == [
        ("small", 320, 213, "image/jpeg"),
        ("medium", 1280, 853, "image/jpeg"),
        ("large", 2048, 1365, "image/jpeg"),
    ]
    assert (rendering.width, rendering.height, rendering.warnings) == (3000, 2000, ())
    for preview in rendering.previews:
        assert Image.open(io.BytesIO(preview.data)).size == (preview.width, preview.height)


def test_a_small_picture_is_not_enlarged(tmp_path: Path) -> None:
    rendering = rendered(tmp_path / "photo", encoded(four_corners(40, 30), "PNG"))
    assert {(p.width, p.height) for p in rendering.previews} == {(40, 30)}


def test_no_side_is_under_one_pixel(tmp_path: Path) -> None:
    rendering = rendered(tmp_path / "photo", encoded(Image.new("RGB", (9000, 2)), "PNG"))
    assert [(p.width, p.height) for p in rendering.previews] == [(320, 1), (1280, 1), (2048, 1)]


@pytest.mark.parametrize(("width", "height"), [(4000, 2667), (5003, 3001), (2049, 1535), (999, 3001)])
def test_the_aspect_ratio_is_kept_within_a_pixel(tmp_path: Path, width: int, height: int) -> None:
    rendering = rendered(tmp_path / "photo", encoded(Image.new("RGB", (width, height)), "JPEG"))
    for preview in rendering.previews:
        scale = max(preview.width, preview.height) / max(width, height)
        assert abs(preview.height - height * scale) <= 1
        assert abs(preview.width - width * scale) <= 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", STORED)
def test_a_jpeg_is_turned_upright(tmp_path: Path, orientation: int, order: str) -> None:
    block = exif([(0x112, SHORT, orientation)], order=order)
    assert_upright(rendered(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block], stored(orientation))))


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_other_formats_are_turned_upright_once(tmp_path: Path, kind: str, orientation: int) -> None:
    if kind == "TIFF":
        data = encoded(stored(orientation), kind, tiffinfo={0x112: orientation})
    elif kind == "PNG":
        data = encoded(stored(orientation), kind, exif=exif([(0x112, SHORT, orientation)]))
    else:
        data = webp_with({b"EXIF": exif([(0x112, SHORT, orientation)])}, stored(orientation))
    assert_upright(rendered(tmp_path / "photo", data))


@pytest.mark.parametrize("orientation", STORED)
def test_an_avif_that_turns_itself_is_not_turned_again(tmp_path: Path, orientation: int) -> None:
    # Pillow writes the orientation as irot and imir, and into EXIF too
    data = encoded(stored(orientation), "AVIF", exif=exif([(0x112, SHORT, orientation)]), quality=95)
    assert_upright(rendered(tmp_path / "photo", data))


@pytest.mark.parametrize("orientation", STORED)
def test_a_heic_that_turns_itself_is_not_turned_again(tmp_path: Path, orientation: int) -> None:
    assert_upright(rendered(tmp_path / "photo", heic(stored(orientation), orientation)))


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_the_exif_of_a_heic_counts_where_the_container_does_not_turn(
    tmp_path: Path, orientation: int
) -> None:
    data = heic(stored(orientation), orientation)
    without = data.replace(b"irot", b"free").replace(b"imir", b"free")
    assert without != data
    assert_upright(rendered(tmp_path / "photo", without))


def heic(picture: Image.Image, orientation: int) -> bytes:
    """A HEIC with the orientation in its EXIF, and as irot and imir."""
    out = io.BytesIO()
    file = pillow_heif.from_pillow(picture)
    file.info["exif"] = b"Exif\0\0" + exif([(0x112, SHORT, orientation)])
    file.save(out, quality=90)
    return out.getvalue()


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_an_orientation_that_means_nothing_turns_nothing(tmp_path: Path, value: int) -> None:
    block = exif([(0x112, SHORT, value)])
    assert_upright(rendered(tmp_path / "photo", jpeg_with([b"Exif\0\0" + block])))


def test_the_thumbnail_inside_is_never_what_is_shown(tmp_path: Path) -> None:
    block = exif([(0x112, SHORT, 1), (0x201, LONG, 200), (0x202, LONG, 400)])
    thumbnail = encoded(Image.new("RGB", (8, 8), "black"), "JPEG")
    data = jpeg_with([b"Exif\0\0" + block.ljust(200, b"\0") + thumbnail])
    assert_upright(rendered(tmp_path / "photo", data))


def test_no_metadata_is_left_in_any_preview(tmp_path: Path) -> None:
    secret = b"48.8584 N 2.2945 E"
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    block = exif([(0x10E, ASCII, secret + b"\0")], gps=[(1, ASCII, "N")])
    data = encoded(four_corners(), "JPEG", exif=block, icc_profile=srgb, xmp=secret, comment=secret)
    for preview in rendered(tmp_path / "photo", data).previews:
        assert secret not in preview.data
        assert segments(preview) <= {0xE0, 0xDB, 0xC0, 0xC4, 0xDA}


def segments(preview: Preview) -> set[int]:
    """Which markers stand before the picture's data."""
    found, at_byte = set(), 2
    while True:
        marker, length = preview.data[at_byte + 1], int.from_bytes(preview.data[at_byte + 2 : at_byte + 4])
        found.add(marker)
        if marker == 0xDA:
            return found
        at_byte += 2 + length


def test_previews_are_baseline_jpegs_with_half_the_colour_resolution(tmp_path: Path) -> None:
    picture = shown(rendered(tmp_path / "photo", encoded(four_corners(), "JPEG", progressive=True)))
    assert "progressive" not in picture.info
    assert picture.layer == [(1, 2, 2, 0), (2, 1, 1, 1), (3, 1, 1, 1)]  # type: ignore[attr-defined]


def test_the_colour_profile_is_applied(tmp_path: Path) -> None:
    # a profile that takes red for green, and so on round
    swapped = swapping_profile()
    data = encoded(Image.new("RGB", (300, 200), (255, 0, 0)), "PNG", icc_profile=swapped)
    assert_close(at(shown(rendered(tmp_path / "photo", data)), 0.5, 0.5), (0, 255, 0), 25)


def swapping_profile() -> bytes:
    """sRGB with its red and green primaries exchanged (the tag table of ICC.1:2010, 7.3)."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, green = profile.index(b"rXYZ", 128), profile.index(b"gXYZ", 128)
    profile[red : red + 4], profile[green : green + 4] = b"gXYZ", b"rXYZ"
    return bytes(profile)


@pytest.mark.parametrize("icc", [b"no profile", b"\0" * 200])
def test_a_broken_profile_is_ignored(tmp_path: Path, icc: bytes) -> None:
    assert_upright(rendered(tmp_path / "photo", encoded(four_corners(), "PNG", icc_profile=icc)))


def test_a_profile_for_other_channels_is_ignored(tmp_path: Path) -> None:
    data = encoded(Image.new("L", (60, 40), 90), "PNG", icc_profile=swapping_profile())
    assert_close(at(shown(rendered(tmp_path / "photo", data)), 0.5, 0.5), (90, 90, 90), 2)


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    data = encoded(Image.new("CMYK", (60, 40), (0, 255, 255, 0)), "JPEG")
    assert_close(at(shown(rendered(tmp_path / "photo", data)), 0.5, 0.5), (255, 0, 0), 40)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path: Path, kind: str) -> None:
    ramp = Image.new("I;16", (256, 40))
    for column in range(256):
        ramp.paste(column * 257, (column, 0, column + 1, 40))
    picture = shown(rendered(tmp_path / "photo", encoded(ramp, kind)))
    for x in (0.1, 0.5, 0.9):
        assert_close(at(picture, x, 0.5), (int(x * 256),) * 3, 3)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_grey_of_no_fixed_range_shows_its_own(tmp_path: Path, mode: str) -> None:
    picture = Image.new(mode, (60, 40), 100_000)
    picture.paste(50_000, (0, 0, 30, 40))
    got = shown(rendered(tmp_path / "photo", encoded(picture, "TIFF")))
    assert_close(at(got, 0.2, 0.5), (127, 127, 127), 3)
    assert_close(at(got, 0.8, 0.5), (255, 255, 255), 3)


@pytest.mark.parametrize(
    ("mode", "kind"), [("RGBA", "PNG"), ("LA", "PNG"), ("RGBA", "WEBP"), ("RGBA", "GIF"), ("RGBA", "AVIF")]
)
def test_what_is_transparent_becomes_white(tmp_path: Path, mode: str, kind: str) -> None:
    clear = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    clear.paste((200, 200, 200, 255), (30, 0, 60, 40))
    picture = shown(rendered(tmp_path / "photo", encoded(clear.convert(mode), kind)))
    assert_close(at(picture, 0.1, 0.5), (255, 255, 255), 4)
    assert_close(at(picture, 0.9, 0.5), (200, 200, 200), 8)


def test_a_transparent_colour_of_a_png_becomes_white(tmp_path: Path) -> None:
    data = encoded(Image.new("RGB", (60, 40), (1, 2, 3)), "PNG", transparency=(1, 2, 3))
    assert_close(at(shown(rendered(tmp_path / "photo", data)), 0.5, 0.5), (255, 255, 255), 2)


def test_single_bits_become_grey(tmp_path: Path) -> None:
    picture = Image.new("1", (600, 40), 1)
    picture.paste(0, (0, 0, 300, 40))
    got = shown(rendered(tmp_path / "photo", encoded(picture, "PNG")))
    assert_close(at(got, 0.2, 0.5), (0, 0, 0), 4)
    assert_close(at(got, 0.8, 0.5), (255, 255, 255), 4)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_shown(tmp_path: Path, kind: str) -> None:
    frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "blue", "green")]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    assert_close(at(shown(rendered(tmp_path / "photo", data)), 0.5, 0.5), (255, 0, 0), 6)


def test_the_pixel_limit_counts_before_anything_is_decoded(tmp_path: Path) -> None:
    with pytest.raises(TooManyPixels, match="50000 x 50000"):
        rendered(tmp_path / "photo", png_header(50_000, 50_000))


def test_a_picture_at_the_limit_is_rendered_and_one_above_is_not(tmp_path: Path) -> None:
    path = save(tmp_path / "photo", four_corners(), "PNG")
    assert render(path, max_pixels=600 * 400).width == 600
    with pytest.raises(TooManyPixels):
        render(path, max_pixels=600 * 400 - 1)


def test_a_jpeg_may_have_four_times_as_many_pixels_unless_it_is_progressive(tmp_path: Path) -> None:
    path = save(tmp_path / "photo", four_corners(), "JPEG")
    assert render(path, max_pixels=300 * 200).width == 600
    with pytest.raises(TooManyPixels):
        render(path, max_pixels=300 * 200 - 1)
    save(path, four_corners(), "JPEG", progressive=True)
    with pytest.raises(TooManyPixels):
        render(path, max_pixels=300 * 200)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {"interlace": 0})],
)
def test_of_a_file_cut_late_the_readable_part_is_shown(
    tmp_path: Path, kind: str, options: dict[str, int]
) -> None:
    picture = noise(600, 400)
    picture.paste((250, 250, 250), (0, 0, 600, 40))
    data = encoded(picture, kind, **options)
    rendering = rendered(tmp_path / "photo", data[: len(data) * 6 // 10])
    assert rendering.warnings == ("truncated",)
    assert (rendering.width, rendering.height) == (600, 400)
    assert_close(at(shown(rendering), 0.5, 0.02), (250, 250, 250), 10)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("GIF", {}),
        ("WEBP", {}),
        ("AVIF", {}),
        ("BMP", {}),
    ],
)
@pytest.mark.parametrize("percent", [1, 5, 9])
def test_a_file_cut_in_its_first_tenth_is_refused(
    tmp_path: Path, kind: str, options: dict[str, bool], percent: int
) -> None:
    picture = noise(600, 400)
    if options:
        # in noise, unlike in photos, the coarse scans of a progressive file take next to nothing
        picture = picture.filter(ImageFilter.GaussianBlur(2))
    data = encoded(picture, kind, **options)
    with pytest.raises(TruncatedImage):
        rendered(tmp_path / "photo", data[: len(data) * percent // 100])


def test_of_a_tiff_cut_late_the_strips_that_are_there_are_shown(tmp_path: Path) -> None:
    picture = noise(600, 400)
    picture.paste((250, 250, 250), (0, 0, 600, 40))
    for data in (encoded(picture, "TIFF"), striped_tiff(picture)):
        rendering = rendered(tmp_path / "photo", data[: len(data) * 6 // 10])
        assert rendering.warnings == ("truncated",)
        assert_close(at(shown(rendering), 0.5, 0.02), (250, 250, 250), 10)
    data = striped_tiff(noise(600, 400))
    with pytest.raises(TruncatedImage):
        rendered(tmp_path / "photo", data[: len(data) // 20])


def test_a_tiff_cut_before_its_directory_is_truncated(tmp_path: Path) -> None:
    data = encoded(noise(600, 400), "TIFF", compression="tiff_lzw")  # written before its directory
    with pytest.raises(TruncatedImage):
        rendered(tmp_path / "photo", data[: len(data) * 6 // 10])


def test_broken_data_inside_a_whole_file_costs_a_warning_only(tmp_path: Path) -> None:
    data = bytearray(encoded(noise(600, 400), "PNG"))
    middle = len(data) // 2
    data[middle : middle + 64] = b"\xff" * 64
    assert rendered(tmp_path / "photo", bytes(data)).warnings == ("damaged",)


def test_a_picture_without_sense_inside_is_corrupt(tmp_path: Path) -> None:
    data = encoded(four_corners(), "WEBP")
    with pytest.raises(CorruptImage):
        rendered(tmp_path / "photo", data[:30] + b"\x55" * (len(data) - 30))


def test_after_a_damaged_file_pillow_is_as_strict_as_before(tmp_path: Path) -> None:
    with pytest.raises(TruncatedImage):
        rendered(tmp_path / "photo", encoded(noise(600, 400), "PNG")[:5000])
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_what_looks_like_scans_in_a_profile_or_behind_the_picture_is_none(tmp_path: Path) -> None:
    data = encoded(four_corners(), "JPEG", progressive=True, icc_profile=b"\xff\xda" * 5000)
    assert_upright(rendered(tmp_path / "photo", data + b"\xff\xda" * 5000))


def test_the_name_of_a_file_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with pytest.raises(CorruptImage):
        rendered(tmp_path / "memory" / "out of memory", b"GIF89a but nothing more;")
    assert_upright(rendered(tmp_path / "holiday.txt", encoded(four_corners(), "PNG")))
    with pytest.raises(NotAnImage):
        rendered(tmp_path / "holiday.jpg", b"wish you were here")


def test_a_missing_file_is_no_damaged_picture(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        render(tmp_path / "photo", max_pixels=MAX_PIXELS)
