"""What can be wrong with a store, and how its backend's errors are told."""

from __future__ import annotations

Errors = tuple[type[Exception], ...]
"""What a backend raises when it is away, or an object is missing."""

_LONGEST = 300


class StoreAway(Exception):
    """The store can't be reached or can't take more (a full disk, say); trying later may help."""


class ObjectMissing(Exception):
    """There is no object under that key."""


def told(error: BaseException) -> str:
    """A backend's error in one line: obstore's go on with a dump of its insides."""
    return " ".join(str(error).partition("\n\nDebug source:")[0].split())[:_LONGEST]
