"""Log lines: one a record, whatever users put into them."""

from __future__ import annotations

import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observability.logs import JsonFormatter, TextFormatter, configure, context, logging_with, pairs

# Lone surrogates too, which no encoding has.
ANYTHING = st.text(st.characters())
KEY = "sl_0123456789ab_" + "0123456789abcdef" * 3


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


@given(ANYTHING, ANYTHING)
def test_no_text_breaks_a_json_line_and_all_of_it_comes_back(message: str, path: str) -> None:
    text = JsonFormatter().format(record("%s", message, path=path))
    assert text.isascii()
    assert text.isprintable()
    line = json.loads(text)
    assert (line["message"], line["path"]) == (_paired(message), _paired(path))


def _paired(text: str) -> str:
    """JSON takes two surrogates that stand side by side for the one character that they mean."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(ANYTHING, ANYTHING)
def test_no_text_breaks_a_readable_line_or_moves_the_cursor(message: str, path: str) -> None:
    text = TextFormatter().format(record("%s", message, path=path))
    assert text.isprintable()
    assert text.encode()


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_long_values_lose_their_middle(formatter: logging.Formatter) -> None:
    made = record("%s", "m" * 10_000, path="p" * 10_000, where={"w" * 10_000})
    try:
        raise LookupError("t" * 100_000)
    except LookupError:
        made.exc_info = sys.exc_info()
    assert 10_000 < len(formatter.format(made)) < 30_000


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
@pytest.mark.parametrize(
    ("said", "secret"),
    [
        (f"the key {KEY} is unknown", KEY[16:]),
        (f"GET /v1/photos/{KEY}?key={KEY}", KEY[16:]),
        ("Invalid HTTP Header: 'Authorization Bearer s3cret-token'", "s3cret-token"),
        ("Invalid HTTP Header: 'AUTHORIZATION: Basic YW5uYTpzM2NyZXQ='", "YW5uYTpzM2NyZXQ"),
        ("{'Authorization': 'Bearer s3cret-token'}", "s3cret-token"),
        ('{"authorization": "s3cret-token"}', "s3cret-token"),
    ],
)
def test_no_key_gets_into_a_line(formatter: logging.Formatter, said: str, secret: str) -> None:
    made = record("%s", said, where=said)
    try:
        raise LookupError(said)
    except LookupError:
        made.exc_info = sys.exc_info()
    text = formatter.format(made)
    assert secret not in text
    assert text.count("***") >= 3


def test_a_password_error_is_told_in_full() -> None:
    said = 'connection failed: FATAL: password authentication failed for user "anna"; no authorization at all'
    assert json.loads(JsonFormatter().format(record(said)))["message"] == said


class Broken:
    """Can't be shown."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_logging_wrongly_fails_nobody(formatter: logging.Formatter) -> None:
    assert "%d photos ('many',)" in formatter.format(record("%d photos", "many"))
    text = formatter.format(record("%s", Broken(), where=Broken(), share=float("nan"), time="mine"))
    assert "<Broken>" in text
    assert "NaN" not in text


def test_a_tracebacks_lines_pass_for_no_record_on_a_terminal() -> None:
    try:
        raise LookupError("one\n12:00:00 info    all is well\x1b[2J")
    except LookupError:
        made = record("it failed")
        made.exc_info = sys.exc_info()
    first, *others = TextFormatter().format(made).split("\n")
    assert all(line.startswith("    ") and line.isprintable() for line in others)
    assert first.endswith("it failed  ")


def test_fields_are_read_back_as_they_were_meant() -> None:
    assert pairs({"a": 1, "b": "two words", "c": 'a "b"', "d": "x=y", "e": ""}) == (
        r'a=1 b="two words" c="a \"b\"" d="x=y" e=""'
    )


def test_the_context_is_that_of_the_blocks_around() -> None:
    with logging_with(request_id="r", trace_id="t"):
        with logging_with(trace_id=None, task_id="k"):
            assert dict(context()) == {"request_id": "r", "trace_id": "t", "task_id": "k"}
        assert dict(context()) == {"request_id": "r", "trace_id": "t"}
    assert dict(context()) == {}


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


@pytest.fixture
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """The root logger, whose handlers and all else are put back after the test."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    monkeypatch.setattr(logging, "raiseExceptions", True)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    yield root
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.parametrize(("log_format", "kind"), [("json", JsonFormatter), ("text", TextFormatter)])
def test_configuring_replaces_what_was_set_up(
    unconfigured: logging.Logger, log_format: str, kind: type[logging.Formatter]
) -> None:
    configure(log_format)
    configure(log_format)
    (handler,) = unconfigured.handlers
    assert isinstance(handler.formatter, kind)
    assert unconfigured.level == logging.INFO


def test_warnings_and_the_ends_of_threads_are_lines_too(
    unconfigured: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("this is old", DeprecationWarning, stacklevel=1)
    thread = threading.Thread(target=lambda: 1 / 0, name="divider")
    thread.start()
    thread.join()
    warning, ended = map(json.loads, capsys.readouterr().err.splitlines())
    assert "this is old" in warning["message"]
    assert ended["message"] == "the thread divider ended by an exception"
    assert "ZeroDivisionError" in ended["traceback"]
