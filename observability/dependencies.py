"""What the service depends on: whether it answers, since when, and what it is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class About:
    """What a server says of itself: its name with its version, and when it was started."""

    version: str
    started_at: datetime


@dataclass(frozen=True)
class Dependency:
    """One that was looked at just now.

    Attributes:
        since: up, since it was started, as far as it says so; away, since this process first found it so.
        error: why it is away, in a line.
    """

    name: str
    up: bool
    since: datetime | None
    version: str | None = None
    error: str | None = None


class Dependencies:
    """Looks at each when asked, and remembers which were away.

    Args:
        checks: by name, a function that raises if it is away.
        about: for those that can be asked, a function that asks.
    """

    def __init__(
        self, checks: Mapping[str, Callable[[], None]], about: Mapping[str, Callable[[], About]]
    ) -> None:
        self._checks = checks
        self._about = about
        self._away_since: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def up(self) -> dict[str, bool]:
        """Whether each answers."""
        return {name: self._problem(name) is None for name in self._checks}

    def look(self) -> Iterator[Dependency]:
        """Each with what is known of it."""
        for name in self._checks:
            if problem := self._problem(name):
                yield Dependency(name, False, self._away_since.get(name), error=problem)
            elif about := self._asked(name):
                yield Dependency(name, True, about.started_at, about.version)
            else:
                yield Dependency(name, True, None)

    def _problem(self, name: str) -> str | None:
        try:
            self._checks[name]()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is away
            logger.warning("%s is away: %s", name, error)
            with self._lock:
                self._away_since.setdefault(name, datetime.now(UTC))
            return str(error).partition("\n")[0] or type(error).__name__
        with self._lock:
            self._away_since.pop(name, None)
        return None

    def _asked(self, name: str) -> About | None:
        ask = self._about.get(name)
        try:
            return None if ask is None else ask()
        except Exception as error:  # noqa: BLE001 - it answered a moment ago; the next look will tell
            logger.info("%s doesn't say what it is: %s", name, error)
            return None
