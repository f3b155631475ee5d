"""Times as options: `90d`, `24h`, `30m`, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(\d{1,6})([smhd])|0")


class Duration(click.ParamType[Any]):
    """A duration: a whole number and its unit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """`24h` as a timedelta."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.fullmatch(value)
        if match is None:
            self.fail(f"'{value}' is no duration: give one as 30m, 24h or 90d", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match[1] else timedelta()


class Expiry(Duration):
    """A duration from now, or a date (its midnight, UTC, unless it says otherwise)."""

    name = "duration or date"

    def convert(  # type: ignore[override] # wider on purpose
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | datetime:
        """`90d` as a timedelta, `2030-01-31` as a datetime."""
        if isinstance(value, str) and not _DURATION.fullmatch(value):
            try:
                at = datetime.fromisoformat(value)
            except ValueError:
                self.fail(f"'{value}' is neither a duration (90d) nor a date (2030-01-31)", param, ctx)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        return super().convert(value, param, ctx)


def shown(duration: timedelta) -> str:
    """A duration for a person, in its largest whole unit: `89 d`, `5 h`, `3 min`."""
    seconds = max(0, int(duration.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
