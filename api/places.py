"""Places for clients that wait: each holds a thread, and those of all others must never be among them."""

from __future__ import annotations

import threading


class Places:
    """So many clients may wait in this process at once, on streams and by `Prefer: wait`."""

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)

    def take(self) -> bool:
        """Take a place; False if there is none."""
        return self._free.acquire(blocking=False)

    def free(self) -> None:
        """Give it back."""
        self._free.release()
