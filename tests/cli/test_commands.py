"""The `flask` commands as whoever is on call uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from click.testing import Result
from flask import Flask

from app import create_app
from config import Settings
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


def run(app: Flask, *arguments: str) -> Result:
    """Run `flask --app app ARGUMENTS`."""
    return app.test_cli_runner().invoke(args=list(arguments))


@pytest.fixture
def dead(client: Client, auth: Auth, hand: Hand) -> str:
    """The id of a failed EXIF task."""
    photo_id = client.post("/v1/photos", data=jpeg(), headers=auth()).json["id"]
    task_id = hand.task(photo_id, "exif")
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="it broke\nin two lines")
    return task_id


def test_dead_letters_are_listed_a_line_each_with_their_photo_and_reason(app: Flask, dead: str) -> None:
    [line] = run(app, "tasks", "list").output.splitlines()
    assert dead in line
    assert "exif of " in line
    assert "corrupt-image: it broke in two lines" in line
    assert run(app, "tasks", "list", "--kind", "preview").output == ""


def test_a_task_is_shown_with_its_attempts(app: Flask, dead: str) -> None:
    shown = run(app, "tasks", "show", dead).output
    assert "attempt 1 by by-hand" in shown
    missing = run(app, "tasks", "show", "00000000-0000-0000-0000-000000000000")
    assert (missing.exit_code, "there is no task" in missing.output) == (1, True)


def test_one_or_many_are_requeued_and_discarded(app: Flask, dead: str) -> None:
    assert run(app, "tasks", "requeue", "--all", "--dry-run").output == "1 failed tasks\n"
    assert run(app, "tasks", "requeue", dead).output == "requeued\n"
    assert run(app, "tasks", "requeue", "--all").output == "none\n"
    assert run(app, "tasks", "cancel", dead).output == "cancelled\n"
    assert run(app, "tasks", "discard", "--error-type", "corrupt-image").output == "none\n"


def test_a_queue_is_paused_and_resumed(app: Flask) -> None:
    assert run(app, "tasks", "pause", "preview").output == "preview is paused\n"
    assert run(app, "tasks", "resume", "preview").output == "preview is running\n"


def test_a_queue_gets_a_rate_and_loses_it(app: Flask) -> None:
    assert run(app, "tasks", "rate", "preview", "0.5").output == "preview has a rate of 0.5 a second\n"
    assert run(app, "tasks", "rate", "preview", "none").output == "preview has no rate\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tasks", "requeue"), "give a task's id, --kind, --error-type or --all"),
        (("tasks", "requeue", "--kind", "nope"), "'nope' is not one of"),
        (("tasks", "discard", "--error-type", "nope"), "'nope' is not one of"),
        (("tasks", "list", "--limit", "-3"), "-3 is not in the range"),
        (("tasks", "pause", "nope"), "there is no queue nope"),
        (("tasks", "rate", "nope", "1"), "there is no queue nope"),
        (("tasks", "rate", "preview", "0"), "a rate is between"),
        (("tasks", "rate", "preview", "fast"), "could not convert"),
        (("sweep", "--older-than", "0"), "0 is not in the range"),
        (("keys", "revoke", "nope"), "there is no live key nope"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(app: Flask, arguments: tuple[str, ...], told: str) -> None:
    result = run(app, *arguments)
    assert result.exit_code != 0
    assert told in result.output
    assert "Traceback" not in result.output


def test_a_database_that_is_away_is_told_in_a_line(settings: Settings) -> None:
    app = create_app(replace(settings, database_url="postgresql://nobody@127.0.0.1:1/none"))
    for arguments in (("tasks", "list"), ("verify",), ("keys", "list")):
        result = run(app, *arguments)
        assert result.exit_code == 1
        assert result.output.startswith("Error: the database can't be reached: ")
        assert len(result.output.splitlines()) < 3


def test_missing_settings_end_a_process_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAFELIGHT_DATABASE_URL", raising=False)
    with pytest.raises(SystemExit, match="SAFELIGHT_DATABASE_URL is not set"):
        create_app()
