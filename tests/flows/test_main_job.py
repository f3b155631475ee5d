"""Given a photo, when it is uploaded, then everything that is made of it can be fetched."""

from __future__ import annotations

import io
from collections.abc import Callable
from uuid import uuid4

import pytest
from PIL import Image

from tests.pictures import MAKE, heic, jpeg, png
from tests.stack import Stack


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


@pytest.mark.parametrize(
    ("make", "media_type"), [(jpeg, "image/jpeg"), (png, "image/png"), (heic, "image/heic")]
)
def test_a_photo_becomes_ready_with_three_previews_and_exif(
    stack: Stack, key: dict[str, str], make: Callable[..., bytes], media_type: str
) -> None:
    photo = stack.wait_ready(stack.upload(make(2600, 1300), key), key)

    assert (photo["width"], photo["height"], photo["media_type"]) == (2600, 1300, media_type)
    assert photo["exif"]["make"] == MAKE
    assert [(made["size"], made["width"], made["height"]) for made in photo["previews"]] == [
        ("small", 320, 160),
        ("medium", 1280, 640),
        ("large", 2048, 1024),
    ]
    for made in photo["previews"]:
        answer = stack.get(made["url"], key)
        assert answer.status == 200
        assert len(answer.body) == made["size_bytes"]
        assert Image.open(io.BytesIO(answer.body)).size == (made["width"], made["height"])
