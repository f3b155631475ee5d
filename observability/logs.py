"""Logs: one JSON object a line, or readable lines on a terminal; user data never breaks a line.

No key gets into a line, whoever logs it. Long values lose their middle.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default=MappingProxyType({}))
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MAX_CHARS = 2_000
_MAX_TRACEBACK_CHARS = 16_000
# Keys of ours, and whatever stands where credentials do: servers quote malformed requests.
_SECRETS = re.compile(
    r"(\bsl_[0-9a-f]{1,12}_)[0-9A-Za-z]+"
    r"|(?i:(\bauthorization(?:\W{0,3}[:=]\W{0,4}(?:[a-z]+\s+)?|\W{1,8}(?:basic|bearer)\s+)|\bbearer\s+)[^\s\"',\\]+)"
)

logger = logging.getLogger(__name__)


@contextmanager
def logging_with(**fields: str | None) -> Iterator[None]:
    """Add fields such as `request_id` to every line that this thread logs within the block.

    A field that is None leaves what an outer block says of it.
    """
    before = _context.get()
    given = {name: value for name, value in fields.items() if value is not None}
    _context.set(MappingProxyType({**before, **given}))
    try:
        yield
    finally:
        _context.set(before)


def context() -> Mapping[str, str]:
    """The fields that lines logged here and now get from the blocks around them: `trace_id`, say."""
    return _context.get()


def cut(text: str, max_chars: int) -> str:
    """The text without its middle, if it is longer."""
    half = max_chars // 2
    return text if len(text) <= max_chars else f"{text[:half]} [...] {text[-half:]}"


def printable(text: str) -> str:
    """The text on one line, and without power over a terminal: what can't be seen is escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def pairs(fields: Mapping[str, object]) -> str:
    """Fields as a person reads them: `name=value name="longer value"`, on one line."""
    return " ".join(f"{name}={_quoted(value)}" for name, value in fields.items())


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What a record says beside its message: its own `extra`, then the blocks around it."""
    own = {name: _plain(value) for name, value in vars(record).items() if name not in _STANDARD}
    return {**own, **{name: _safe(value) for name, value in context().items() if name not in own}}


class JsonFormatter(logging.Formatter):
    """One JSON object a line, in ASCII: time (UTC), level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        line = {**line, **{name: value for name, value in fields_of(record).items() if name not in line}}
        if record.exc_info:
            line["traceback"] = _safe(self.formatException(record.exc_info), _MAX_TRACEBACK_CHARS)
        return json.dumps(line)


class TextFormatter(logging.Formatter):
    """A line for a person; a traceback's lines follow it, indented: none passes for another record."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        lines = [f"{clock} {record.levelname.lower():8}{_message(record)}  {pairs(fields_of(record))}"]
        if record.exc_info:
            trace = _safe(self.formatException(record.exc_info), _MAX_TRACEBACK_CHARS)
            lines += [f"    {line}" for line in trace.split("\n")]
        return "\n".join(map(printable, lines))


def formatter(log_format: str) -> logging.Formatter:
    """The formatter that the setting `log_format` names."""
    return JsonFormatter() if log_format == "json" else TextFormatter()


def configure(log_format: str, *, level: int = logging.INFO) -> None:
    """Send everything that is logged to standard error as `json` or `text`, replacing what was set up.

    Python's warnings, and exceptions that end a thread, are logged too.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # what can't be logged is let go; it ends nobody's work
    threading.excepthook = _thread_ended


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    name = ended.thread.name if ended.thread else "?"
    if ended.exc_value is not None and not issubclass(ended.exc_type, SystemExit):
        exc_info = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        logger.critical("the thread %s ended by an exception", name, exc_info=exc_info)


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001 - its arguments don't fit: tell what there is
        text = f"{_text(record.msg)} {_text(record.args)}"
    return _safe(text)


def _plain(value: object) -> object:
    """A value as JSON has it: numbers as they are, all else as text."""
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _safe(_text(value))


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - logging fails nobody
        return f"<{type(value).__name__}>"


def _quoted(value: object) -> str:
    text = printable(str(value))
    return text if re.fullmatch(r'[^\s"=]+', text) else '"' + text.replace('"', r"\"") + '"'


def _safe(text: str, max_chars: int = _MAX_CHARS) -> str:
    """Without secrets first: half of a key that was cut wouldn't look like one."""
    folded = text.lower()
    # The pattern takes ten times as long to find nothing, which is what it finds in nearly all of them.
    if "sl_" in folded or "authorization" in folded or "bearer" in folded:
        text = _SECRETS.sub(lambda found: f"{found[1] or found[2]}***", text)
    return cut(text, max_chars)
