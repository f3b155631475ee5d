"""A short, mixed load: good photos of several sizes, bad ones, and what people look at afterwards."""

from __future__ import annotations

from typing import Any

from tests import pictures
from tests.stack import Stack

Key = dict[str, str]


def good_photos(stack: Stack, key: Key, count: int, *, seed: int) -> list[dict[str, Any]]:
    """Upload pictures of three sizes, each unlike any other seed's."""
    sizes = ((640, 480), (1600, 1200), (2400, 1800))
    return [
        stack.upload(pictures.jpeg(*sizes[number % 3], seed=seed * 1000 + number), key)
        for number in range(count)
    ]


def bad_photos(stack: Stack, key: Key, *, seed: int) -> list[dict[str, Any]]:
    """Upload what is taken and can't be processed: one cut near its start, and one of too many pixels."""
    files = (pictures.jpeg(seed=seed)[:400] + f"{seed}".encode(), pictures.huge_png(50_000 + seed % 1000))
    return [stack.upload(data, key) for data in files]


def look(stack: Stack, photo: dict[str, Any], key: Key) -> None:
    """Ask for what belongs to a photo, and for what is refused."""
    for path in ("", "/exif", "/previews/small", "/original"):
        stack.get(f"/v1/photos/{photo['id']}{path}", key)
    stack.get("/v1/photos", key)
    assert stack.get("/v1/photos/00000000-0000-4000-8000-000000000000", key).status == 404
    assert stack.get("/v1/photos", {}).status == 401
    assert stack.ask("POST", "/v1/photos", body=b"no picture", headers=key).status == 415
