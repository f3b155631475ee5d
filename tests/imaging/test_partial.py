"""Metadata out of files with holes: what is missing is asked for, and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from imaging.errors import NotAnImage
from imaging.exif import read_exif
from imaging.partial import BytesMissing, opened
from imaging.results import Metadata
from tests.pictures import MAKE, heic, jpeg, png


def _with_hole(path: Path, data: bytes, first: int, end: int) -> Path:
    path.write_bytes(data[:first] + bytes(end - first) + data[end:])
    return path


def _read_by_parts(path: Path, data: bytes) -> Metadata:
    present: list[tuple[int, int]] = []
    while True:
        try:
            return read_exif(path, present)
        except BytesMissing as error:
            first, end = error.part
            with path.open("r+b") as file:
                file.seek(first)
                file.write(data[first:end])
            present.append((first, end))


@pytest.mark.parametrize(
    "data", [jpeg(2000, 1500), heic(2000, 1500), png(800, 600)], ids=["jpeg", "heic", "png"]
)
def test_what_is_read_of_growing_parts_is_what_is_read_of_the_whole(tmp_path: Path, data: bytes) -> None:
    whole = tmp_path / "whole"
    whole.write_bytes(data)
    found = _read_by_parts(_with_hole(tmp_path / "part", data, 0, len(data)), data)
    expected = read_exif(whole)
    assert found.fields == expected.fields
    assert found.raw == expected.raw
    assert found.fields["make"] == MAKE


def test_a_jpegs_metadata_needs_its_head_alone(tmp_path: Path) -> None:
    data = jpeg(3000, 2000)
    path = _with_hole(tmp_path / "part", data, 20_000, len(data))
    assert read_exif(path, [(0, 20_000)]).fields["make"] == MAKE


def test_an_error_that_a_hole_led_to_isnt_told(tmp_path: Path) -> None:
    path = _with_hole(tmp_path / "part", jpeg(), 0, 4096)
    with pytest.raises(BytesMissing):
        read_exif(path, [(4096, 5000)])
    path.write_bytes(b"no picture, and all of it is here")
    with pytest.raises(NotAnImage):
        read_exif(path, [(0, 100)])


def test_parts_that_touch_are_one(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(bytes(100))
    with opened(path, [(50, 100), (0, 50)]) as file:
        assert len(file.read()) == 100


def test_the_first_hole_is_told_as_far_as_was_read(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(bytes(100))
    with pytest.raises(BytesMissing) as caught, opened(path, [(0, 50)]) as file:
        _ = file.read(60), file.read(20)
    assert caught.value.part == (50, 60)
