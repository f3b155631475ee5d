"""Given a JPEG, when TurboJPEG decodes it, then it is what Pillow makes of it, bit for bit."""

from __future__ import annotations

import errno
import gc
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from imaging import turbo
from imaging.decode import Decoded, decode
from imaging.errors import ImagingError
from tests.imaging import corpus
from tests.imaging.pictures import encoded, raf, save
from tests.pictures import picture

# As pyproject.toml has it: there it must be installed, or these tests fail.
HAS_WHEEL = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")

Decode = Callable[[Path], Decoded]


@pytest.fixture
def by_pillow(monkeypatch: pytest.MonkeyPatch) -> Decode:
    """Decodes as where there is no TurboJPEG."""

    def decoded(path: Path) -> Decoded:
        with monkeypatch.context() as patch:
            patch.setattr(turbo, "simplejpeg", None)
            return fully(path)

    return decoded


@pytest.fixture
def turned_to(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each file that TurboJPEG was asked for, whether it gave a picture."""
    answers = []
    ask = turbo.decode

    def decoded(*args: Any) -> Image.Image | None:
        answer = ask(*args)
        answers.append(answer is not None)
        return answer

    monkeypatch.setattr(turbo, "decode", decoded)
    return answers


def fully(path: Path) -> Decoded:
    """Decode for the largest preview."""
    return decode(path, max_edge_px=2048, max_pixels=10**9)


def same(one: Decoded, other: Decoded) -> bool:
    """Whether two decodes tell and show the same."""
    return (
        (one.picture.mode, one.picture.tobytes()) == (other.picture.mode, other.picture.tobytes())
        and (one.size, one.box, one.icc, one.warnings, one.orientation)
        == (other.size, other.box, other.icc, other.warnings, other.orientation)
    )  # fmt: skip


@pytest.mark.skipif(not HAS_WHEEL, reason="there are wheels for Linux on x86-64 and ARM alone")
def test_it_is_used_where_it_can_be() -> None:
    assert vars(turbo)["simplejpeg"] is not None


@pytest.mark.skipif(not HAS_WHEEL, reason="there are wheels for Linux on x86-64 and ARM alone")
@pytest.mark.parametrize("size", [(640, 480), (1, 1), (17, 33), (4101, 3003), (3003, 4101), (8200, 400)])
@pytest.mark.parametrize(
    "options",
    [
        {"subsampling": "4:2:0"},
        {"subsampling": "4:2:2", "quality": 95},
        {"subsampling": "4:4:4", "progressive": True},
        {"quality": 30, "optimize": True, "restart_marker_rows": 1},
    ],
    ids=str,
)
def test_it_gives_the_same_bits(
    tmp_path: Path,
    by_pillow: Decode,
    turned_to: list[bool],
    size: tuple[int, int],
    options: dict[str, Any],
) -> None:
    path = save(tmp_path / "photo", picture(*size), "JPEG", **options)
    assert same(fully(path), by_pillow(path))
    assert turned_to[0]


@pytest.mark.parametrize(("mode", "options"), [("L", {}), ("CMYK", {}), ("RGB", {"keep_rgb": True})])
def test_other_colours_are_the_same_too(
    tmp_path: Path, by_pillow: Decode, mode: str, options: dict[str, Any]
) -> None:
    path = save(tmp_path / "photo", picture(2500, 1200).convert(mode), "JPEG", **options)
    assert same(fully(path), by_pillow(path))


def test_the_preview_in_a_raw_file_is_the_same(
    tmp_path: Path, by_pillow: Decode, turned_to: list[bool]
) -> None:
    path = tmp_path / "photo.raf"
    path.write_bytes(raf(encoded(picture(3000, 2000), "JPEG")))
    assert same(fully(path), by_pillow(path))
    assert turned_to == [HAS_WHEEL, False]


@pytest.mark.parametrize("part", [0.3, 0.7, 0.99])
def test_what_a_cut_file_shows_is_pillows(
    tmp_path: Path, by_pillow: Decode, turned_to: list[bool], part: float
) -> None:
    whole = encoded(picture(3000, 2000), "JPEG")
    path = tmp_path / "photo.jpg"
    path.write_bytes(whole[: int(part * len(whole))])
    assert same(fully(path), by_pillow(path))
    assert fully(path).warnings == ("truncated",)


def test_what_a_damaged_file_shows_is_pillows(tmp_path: Path, by_pillow: Decode) -> None:
    whole = bytearray(encoded(picture(3000, 2000), "JPEG"))
    middle = len(whole) // 2
    whole[middle : middle + 400] = bytes(400)
    path = tmp_path / "photo.jpg"
    path.write_bytes(whole)
    assert same(fully(path), by_pillow(path))


@pytest.mark.skipif(not corpus.CORPUS.is_dir(), reason="the shared pictures aren't here")
def test_all_of_the_corpus_is_the_same(by_pillow: Decode) -> None:
    compared = 0
    for path in sorted(corpus.CORPUS.rglob("*.jp*g")):
        outcomes: list[Decoded | type[ImagingError]] = []
        for way in (fully, by_pillow):
            try:
                outcomes.append(way(path))
            except ImagingError as error:
                outcomes.append(type(error))
        one, other = outcomes
        if isinstance(one, Decoded) and isinstance(other, Decoded):
            assert same(one, other), path
            compared += 1
        else:
            assert one == other, path
    assert compared > 30


def test_the_picture_outlives_its_file_and_leaves_no_mapping(tmp_path: Path) -> None:
    path = save(tmp_path / "photo", picture(3000, 2000), "JPEG")
    shown = fully(path).picture
    before = shown.tobytes()
    path.unlink()
    gc.collect()
    other = [Image.new("RGB", (3000, 2000), "red") for _ in range(3)]  # would take its memory, were it free
    assert shown.tobytes() == before
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert len(other) == 3


def test_no_memory_stays_with_what_is_gone(tmp_path: Path) -> None:
    path = save(tmp_path / "photo", picture(2000, 1500), "JPEG")

    def resident_mib() -> float:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)
        return int(line.split()[1]) / 1024

    fully(path)
    before = resident_mib()
    for _ in range(40):
        fully(path)  # 11 MiB each
    assert resident_mib() - before < 100


def test_without_mappings_it_is_the_same(
    tmp_path: Path, by_pillow: Decode, turned_to: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise OSError(errno.ENODEV, "no such device")

    monkeypatch.setattr("mmap.mmap", refuse)
    path = save(tmp_path / "photo", picture(3000, 2000), "JPEG")
    assert same(fully(path), by_pillow(path))
    assert turned_to == [HAS_WHEEL, False]
