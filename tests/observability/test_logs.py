"""Log lines: one a record, whatever users put into them."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observability.logs import JsonFormatter, TextFormatter, configure, logging_with


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    """What a logger would hand to a formatter."""
    return logging.getLogger("a.room").makeRecord(
        "a.room", logging.WARNING, "file.py", 1, message, args, None, extra=extra
    )


def test_a_json_line_says_when_how_bad_where_and_what() -> None:
    line = json.loads(JsonFormatter().format(record("%d photos", 3, photo_id="x")))
    age = datetime.now(UTC) - datetime.fromisoformat(line.pop("time"))
    assert abs(age.total_seconds()) < 60
    assert line == {"level": "warning", "logger": "a.room", "message": "3 photos", "photo_id": "x"}


def test_a_traceback_stands_in_its_line() -> None:
    try:
        raise LookupError("no such thing")
    except LookupError:
        made = record("it failed")
        made.exc_info = sys.exc_info()
    text = JsonFormatter().format(made)
    assert "\n" not in text
    assert "LookupError: no such thing" in json.loads(text)["traceback"]
    assert TextFormatter().format(made).endswith("LookupError: no such thing")


@given(st.text(), st.text())
def test_no_text_breaks_a_json_line_and_all_of_it_comes_back(message: str, path: str) -> None:
    text = JsonFormatter().format(record("%s", message, path=path))
    assert len(text.split("\n")) == 1
    line = json.loads(text)
    assert (line["message"], line["path"]) == (message, path)


@given(st.text(), st.text())
def test_no_text_breaks_a_readable_line_or_moves_the_cursor(message: str, path: str) -> None:
    assert TextFormatter().format(record("%s", message, path=path)).isprintable()


def test_what_json_does_not_know_is_written_as_text() -> None:
    assert json.loads(JsonFormatter().format(record("x", where={1})))["where"] == "{1}"


def test_fields_of_a_block_stand_in_its_lines_and_in_no_others() -> None:
    def fields() -> set[str]:
        line: dict[str, object] = json.loads(JsonFormatter().format(record("x")))
        return set(line) - {"time", "level", "logger", "message"}

    with logging_with(request_id="r"):
        with logging_with(task_id="t"):
            assert fields() == {"request_id", "task_id"}
        assert fields() == {"request_id"}
        elsewhere: list[set[str]] = []
        thread = threading.Thread(target=lambda: elsewhere.append(fields()))
        thread.start()
        thread.join()
        assert elsewhere == [set()]
    assert fields() == set()


def test_a_records_own_field_wins_over_the_blocks() -> None:
    with logging_with(task_id="the block's"):
        line = json.loads(JsonFormatter().format(record("x", task_id="its own")))
    assert line["task_id"] == "its own"


@pytest.mark.parametrize(("log_format", "kind"), [("json", JsonFormatter), ("text", TextFormatter)])
def test_configuring_replaces_what_was_set_up(log_format: str, kind: type[logging.Formatter]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure(log_format)
        configure(log_format)
        (handler,) = root.handlers
        assert isinstance(handler.formatter, kind)
        assert root.level == logging.INFO
    finally:
        root.handlers[:] = before
        root.setLevel(level)
