"""The photos that are measured with."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bench.photos import KINDS, MIXED, Photo, generate, photos
from imaging.exif import read_exif


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert generate(KINDS["2mp"], 3) == generate(KINDS["2mp"], 3)


def test_another_seed_gives_another_photo() -> None:
    assert generate(KINDS["small"], 3) != generate(KINDS["small"], 4)


@pytest.mark.parametrize(
    ("name", "least_kb", "most_kb"),
    [("small", 40, 65), ("2mp", 400, 900), ("12mp", 3_000, 4_500), ("24mp", 6_000, 8_500)],
)
def test_a_photo_is_as_large_as_a_cameras(name: str, least_kb: int, most_kb: int) -> None:
    data = generate(KINDS[name], 0)
    assert least_kb < len(data) / 1000 < most_kb
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == (KINDS[name].width, KINDS[name].height)


def test_a_photo_tells_camera_time_and_place(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(generate(KINDS["2mp"], 1))
    fields: dict[str, Any] = read_exif(path).fields
    assert (fields["make"], fields["orientation"]) == ("samsung", 6)
    assert fields["taken_at"].endswith("+03:00")
    assert 35 <= fields["latitude"] < 56
    assert 20 <= fields["longitude"] < 81


def test_no_upload_is_like_another_and_all_show_the_same() -> None:
    photo = Photo("a.jpg", KINDS["small"], generate(KINDS["small"], 1))
    first, second = (b"".join(photo.unique(text)) for text in ("1", "2"))
    assert first != second
    with Image.open(io.BytesIO(first)) as changed, Image.open(io.BytesIO(photo.data)) as original:
        assert changed.tobytes() == original.tobytes()
        assert changed.getexif() == original.getexif()
        assert changed.info["comment"] == b"1"


def test_a_second_run_takes_the_photos_that_are_kept(tmp_path: Path) -> None:
    (made,) = photos(("small",), tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"kept")
    assert photos(("small",), tmp_path) == [Photo(made.name, made.kind, b"kept")]


def test_no_two_photos_of_a_load_are_alike(tmp_path: Path) -> None:
    made = photos(("small", "small", "2mp", "2mp"), tmp_path)
    assert len({photo.data for photo in made}) == 4


def test_the_mixture_has_no_two_of_a_kind_in_a_row() -> None:
    assert all(a != b for a, b in pairwise(MIXED))
    assert {name: MIXED.count(name) for name in sorted(set(MIXED))} == {"12mp": 5, "24mp": 4, "2mp": 3}
