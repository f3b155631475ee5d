"""What the routes work with, handed over by the web root."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from flask import current_app

from api.hub import Hub
from api.keys import Keys
from api.limits import Limits
from api.places import Places
from api.sessions import Sessions
from observability.dependencies import Dependencies
from photos.analysis import Analyses
from photos.deletion import Deletion
from photos.feed import Feed
from photos.intake import Intake
from photos.reprocessing import Reprocessing
from photos.sharing import Sharing
from photos.tasks import PhotoTasks
from photos.views import Views
from tasks.backlog import Backlog
from tasks.dead_letters import DeadLetters
from tasks.history import History
from tasks.overview import Overview
from tasks.queues import Queues


@dataclass(frozen=True)
class System:
    """What an operator is told of this process and of where else to look; an empty URL is none.

    Attributes:
        free_bytes: room left in the store, None if it has no bound.
    """

    version: str
    revision: str
    free_bytes: Callable[[], int | None]
    grafana_url: str
    prometheus_url: str


@dataclass(frozen=True)
class Rooms:
    """The rooms behind the routes.

    Attributes:
        backlog: whether more photos may come in.
        max_upload_bytes: the largest file that is taken.
        max_batch_bytes: the largest form of several files.
        places: for clients that wait.
        retention_s: how long the history of what has ended is kept.
        redirects_previews: whether the store hands previews out itself.
        leaving: set when this process is to end, and should be sent no more requests.
    """

    keys: Keys
    limits: Limits
    sessions: Sessions
    intake: Intake
    views: Views
    deletion: Deletion
    dependencies: Dependencies
    backlog: Backlog
    max_upload_bytes: int
    max_batch_bytes: int
    reprocessing: Reprocessing
    analyses: Analyses
    sharing: Sharing
    tasks: PhotoTasks
    dead_letters: DeadLetters
    queues: Queues
    overview: Overview
    history: History
    system: System
    feed: Feed
    hub: Hub
    places: Places
    retention_s: float
    redirects_previews: bool
    leaving: threading.Event = field(default_factory=threading.Event)


def rooms() -> Rooms:
    """Those of the app that answers the current request."""
    return cast(Rooms, current_app.extensions["safelight"])
