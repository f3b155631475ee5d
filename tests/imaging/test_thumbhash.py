"""Against what the reference implementation (the npm package thumbhash 0.1.1) gives for the same pixels."""

import pytest
from PIL import Image

from imaging.thumbhash import hash_pixels, thumbhash


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (32, 21, "db380e25864076897588788688777887817f0d6d64"),
        (21, 32, "59380e1d0a5078738868887778878777a29c7f2f88"),
        (32, 32, "9c380e1f062066885579888688688878888717f4d6770806"),
        (100, 75, "1e08060d825454255547077576657776dd8feddf44"),
        (32, 1, "111b22c98a7587888888088a7588008e27"),
        (5, 100, "54780a3112637019798a7687bf68869706"),
    ],
)
def test_a_pattern_is_hashed_as_the_reference_does(width: int, height: int, expected: str) -> None:
    picture = Image.new("RGB", (width, height))
    pixels = [
        ((x * 7 + y * 3) % 256, (x * x + y) % 256, x * y % 256) for y in range(height) for x in range(width)
    ]
    picture.putdata(pixels)
    assert hash_pixels(picture) == bytes.fromhex(expected)


def test_a_photo_of_any_size_and_colour_has_a_hash() -> None:
    for size in ((1, 1), (1, 900), (2048, 3), (640, 480)):
        for colour in ("black", "white", "teal"):
            assert 15 <= len(thumbhash(Image.new("RGB", size, colour))) <= 25
