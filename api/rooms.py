"""What the routes work with, handed over by the web root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app

from api.keys import Keys
from api.limits import Limits
from api.sessions import Sessions
from photos.deletion import Deletion
from photos.intake import Intake
from photos.views import Views


@dataclass(frozen=True)
class Rooms:
    """The rooms behind the routes.

    Attributes:
        checks: by name of a dependency, a function that raises if it is away.
        max_upload_bytes: the largest file that is taken.
    """

    keys: Keys
    limits: Limits
    sessions: Sessions
    intake: Intake
    views: Views
    deletion: Deletion
    checks: dict[str, Callable[[], None]]
    max_upload_bytes: int


def rooms() -> Rooms:
    """Those of the app that answers the current request."""
    return cast(Rooms, current_app.extensions["safelight"])
