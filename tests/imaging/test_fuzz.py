"""Any bytes give a result or an error of ours, within the limits: broken and cut files of every kind."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pillow_heif
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from imaging.errors import ImagingError
from imaging.exif import read_exif
from imaging.preview import render
from imaging.results import Metadata
from imaging.sandbox import Sandbox
from tests.imaging.pictures import (
    cr3,
    encoded,
    four_corners,
    jpeg_with,
    raf,
    raw_tiff,
    striped_tiff,
    webp_with,
)
from tests.imaging.test_exif import BLOCK
from tests.imaging.test_xmp import PACKET

MEMORY_BYTES = 1 << 30
TIME_LIMIT_S = 20
PICTURE = four_corners(600, 400)
SMALL = four_corners(48, 32)


def heic() -> bytes:
    out = io.BytesIO()
    pillow_heif.from_pillow(SMALL).save(out, exif=b"Exif\0\0" + BLOCK, xmp=PACKET)
    return out.getvalue()


SAMPLES = {
    "jpeg": jpeg_with([b"Exif\0\0" + BLOCK, b"http://ns.adobe.com/xap/1.0/\0" + PACKET], SMALL),
    "progressive": encoded(SMALL, "JPEG", progressive=True),
    "png": encoded(SMALL, "PNG", exif=BLOCK),
    "palette": encoded(SMALL.convert("P"), "PNG", transparency=3),
    "gif": encoded(SMALL, "GIF", save_all=True, append_images=[SMALL.transpose(Image.Transpose.ROTATE_180)]),
    "webp": webp_with({b"EXIF": BLOCK, b"XMP ": PACKET}, SMALL),
    "bmp": encoded(SMALL, "BMP"),
    "tiff": striped_tiff(SMALL, 8),
    "lzw": encoded(SMALL, "TIFF", compression="tiff_lzw", tiffinfo={0x112: 6}),
    "heic": heic(),
    "avif": encoded(SMALL, "AVIF", exif=BLOCK),
    "nef": raw_tiff(encoded(PICTURE, "JPEG", quality=10)),
    "cr3": cr3(encoded(PICTURE, "JPEG", quality=10)),
    "raf": raf(jpeg_with([b"Exif\0\0" + BLOCK], PICTURE)),
}
# headers, where most decisions are made, are hit more often than the rest
PLACES = st.one_of(st.floats(0, 1), st.floats(0, 0.05))
EDITS = st.lists(st.tuples(PLACES, st.binary(min_size=1, max_size=8)), max_size=6)
LENGTHS = st.one_of(st.just(1.0), st.floats(0, 1))
QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=1500, derandomize=False)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox(1, MEMORY_BYTES)
    yield sandbox
    sandbox.close()


def edited(data: bytes, edits: list[tuple[float, bytes]], length: float) -> bytes:
    broken = bytearray(data)
    for place, piece in edits:
        at = int(place * (len(broken) - 1))
        broken[at : at + len(piece)] = piece
    return bytes(broken[: round(length * len(broken))])


def survives(sandbox: Sandbox, path: Path, data: bytes) -> None:
    """Both jobs end in a result or in an error that means the file; the process lives on."""
    path.write_bytes(data)
    for job, options in ((render, {"max_pixels": 10_000_000}), (read_exif, {})):
        try:
            result = sandbox.call(job, path, time_limit_s=TIME_LIMIT_S, **options)
        except ImagingError as error:
            if error.transient:  # it hung or died
                raise
        else:
            if isinstance(result, Metadata):
                assert "\\u0000" not in json.dumps([result.fields, result.raw], allow_nan=False)


@pytest.mark.parametrize("kind", SAMPLES)
@QUICK
@given(edits=EDITS, length=LENGTHS)
def test_a_broken_or_cut_file(
    kind: str, edits: list[tuple[float, bytes]], length: float, sandbox: Sandbox, tmp_path: Path
) -> None:
    survives(sandbox, tmp_path / "photo", edited(SAMPLES[kind], edits, length))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", SAMPLES)
@LONG
@given(edits=EDITS, length=LENGTHS)
def test_many_broken_or_cut_files(
    kind: str, edits: list[tuple[float, bytes]], length: float, sandbox: Sandbox, tmp_path: Path
) -> None:
    survives(sandbox, tmp_path / "photo", edited(SAMPLES[kind], edits, length))


def exif_file(edits: list[tuple[float, bytes]], tail: bytes) -> bytes:
    return jpeg_with([b"Exif\0\0" + edited(BLOCK, edits, 1) + tail], Image.new("L", (8, 8)))


BLOCK_EDITS = st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=12)), max_size=20)


@settings(QUICK, max_examples=150)
@given(edits=BLOCK_EDITS, tail=st.binary(max_size=200))
def test_a_broken_exif_block(
    edits: list[tuple[float, bytes]], tail: bytes, sandbox: Sandbox, tmp_path: Path
) -> None:
    survives(sandbox, tmp_path / "photo", exif_file(edits, tail))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(LONG, max_examples=10_000)
@given(edits=BLOCK_EDITS, tail=st.binary(max_size=200))
def test_many_broken_exif_blocks(
    edits: list[tuple[float, bytes]], tail: bytes, sandbox: Sandbox, tmp_path: Path
) -> None:
    survives(sandbox, tmp_path / "photo", exif_file(edits, tail))


@settings(QUICK, max_examples=60)
@given(data=st.binary(max_size=400), head=st.sampled_from([data[:12] for data in SAMPLES.values()]))
def test_rubbish_behind_a_true_beginning(data: bytes, head: bytes, sandbox: Sandbox, tmp_path: Path) -> None:
    survives(sandbox, tmp_path / "photo", head + data)
