"""Reload programs when a source file changes (development only: watchdog isn't in the runtime's lock)."""

from __future__ import annotations

import threading
from pathlib import Path

from watchdog.events import FileSystemEvent, PatternMatchingEventHandler
from watchdog.observers import Observer

_SOURCES = ["**/*.py", "**/*.html"]
_NOT_SOURCES = {"var", "tests", "bench", "docs", "build", "node_modules"}


class Changes(PatternMatchingEventHandler):
    """Watches a project's source folders from when it is made.

    Folders of hidden names, data and tests aren't watched: a database writes all the time.
    """

    def __init__(self, project: Path) -> None:
        super().__init__(patterns=_SOURCES, ignore_directories=True)
        self._changed = threading.Event()
        observer = Observer()
        observer.schedule(self, str(project), recursive=False)
        for folder in project.iterdir():
            if folder.is_dir() and not folder.name.startswith(".") and folder.name not in _NOT_SOURCES:
                observer.schedule(self, str(folder), recursive=True)
        observer.daemon = True
        observer.start()

    def on_any_event(self, event: FileSystemEvent) -> None:
        # opening and reading a file makes events too
        if event.event_type in ("modified", "created", "moved", "deleted"):
            self._changed.set()

    def take(self) -> bool:
        """Whether anything changed since it was last asked."""
        changed = self._changed.is_set()
        self._changed.clear()
        return changed
