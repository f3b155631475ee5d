"""`flask trace` as whoever is on call uses it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from flask import Flask

from tests.cli.test_commands import run
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def photo_id(client: Client, auth: Auth, hand: Hand) -> str:
    """A photo whose EXIF task failed with what a nasty file may put into an error."""
    photo_id = str(client.post("/v1/photos", data=jpeg(), headers=auth()).json["id"])
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="two\nlines \x1b[2J\u202e of it")
    return photo_id


def test_a_story_is_a_line_a_moment_without_power_over_the_terminal(app: Flask, photo_id: str) -> None:
    result = run(app, "trace", photo_id)
    assert result.exit_code == 0
    head, *lines = result.output.splitlines()
    assert head.startswith(f"photo {photo_id}, since 20")
    assert all(line.isprintable() for line in lines)
    [failed] = [line for line in lines if "error_type=corrupt-image" in line]
    assert r'error="two\nlines \x1b[2J\u202e of it"' in failed
    assert lines[0].split()[:4] == ["+0.000", "s", "photo", "accepted"]


def test_json_has_an_object_a_line(app: Flask, photo_id: str) -> None:
    moments = [json.loads(line) for line in run(app, "trace", photo_id, "--json").output.splitlines()]
    assert {moment["photo_id"] for moment in moments} == {photo_id}
    [failed] = [moment for moment in moments if moment["event"] == "task-failed"]
    assert failed["error"] == "two\nlines \x1b[2J\u202e of it"


@pytest.mark.parametrize(
    ("identity", "told"),
    [
        ("nonsense\x1b[2J", r"Error: 'nonsense\x1b[2J' is no id of a photo or a task"),
        ("00000000-0000-4000-8000-000000000000", "Error: there is no photo and no task 00000000-"),
    ],
)
def test_what_is_unknown_is_told_in_a_line(app: Flask, identity: str, told: str) -> None:
    result = run(app, "trace", identity)
    assert result.exit_code == 1
    assert result.output.startswith(told)
    assert len(result.output.splitlines()) == 1
