"""Logs: one JSON object a line, or readable lines on a terminal; user data never breaks a line."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default=MappingProxyType({}))
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def logging_with(**fields: str) -> Iterator[None]:
    """Add fields such as `request_id` to every line that this thread logs within the block."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def context() -> Mapping[str, str]:
    """The fields of the block that this thread is in."""
    return _context.get()


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What a record says beside its message: the block's context and its own `extra`."""
    own = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**_context.get(), **own}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """A line for a person; control characters of user data are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        line = f"{clock} {record.levelname.lower():8}{record.getMessage()}{fields}"
        line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def formatter(log_format: str) -> logging.Formatter:
    """The formatter that the setting `log_format` names."""
    return JsonFormatter() if log_format == "json" else TextFormatter()


def configure(log_format: str, *, level: int = logging.INFO) -> None:
    """Send everything that is logged to standard error as `json` or `text`, replacing what was set up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)
