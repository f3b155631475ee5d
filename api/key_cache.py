"""What a process knows of keys for a few seconds, so that not every request asks the database."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable

from cachetools import TTLCache

from api.key import Key

# A key that another process revoked goes on here for so long.
CACHE_S = 5.0
_KNOWN = 10_000
# Apart from the known, so that no flood of wrong keys pushes those out.
_UNKNOWN = 1_000


class KeyCache:
    """Keys by the hash of their text: no secret stays in memory. Bounded, also for wrong ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: TTLCache[bytes, Key] = TTLCache(_KNOWN, CACHE_S)
        self._unknown: TTLCache[bytes, bool] = TTLCache(_UNKNOWN, CACHE_S)
        self._generation = 0

    def find(self, text: str, look_up: Callable[[], Key | None]) -> Key | None:
        """The key that `text` is, or None; `look_up` finds it if it isn't known."""
        name = hashlib.sha256(text.encode()).digest()
        with self._lock:
            if (known := self._known.get(name)) is not None or name in self._unknown:
                return known
            generation = self._generation
        found = look_up()
        with self._lock:
            if generation == self._generation:
                if found is None:
                    self._unknown[name] = True
                else:
                    self._known[name] = found
        return found

    def clear(self) -> None:
        """Forget all; what is being looked up right now isn't kept either."""
        with self._lock:
            self._generation += 1
            self._known.clear()
            self._unknown.clear()
