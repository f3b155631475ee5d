"""Many files into the service: what is there already isn't sent, and what fails holds up nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from client.folder import Found, sha256_of
from client.service import Failed, NotAllowed, Refused, Service

# How many files are handed to the threads ahead of time.
_AHEAD = 4
# A signal that comes just before a wait for a lock is acted on only after it: no wait is without an end.
_WAIT_S = 0.5


@dataclass
class Summary:
    """What became of the files.

    Attributes:
        sent_bytes: of those that were taken.
        refused, failed: reason by file. Refused is what is no photo, say; what failed may be tried again.
        interrupted: not all of them were tried.
        not_allowed: why the key isn't taken any more.
    """

    done: int = 0
    duplicates: int = 0
    sent_bytes: int = 0
    refused: dict[Path, str] = field(default_factory=dict)
    failed: dict[Path, str] = field(default_factory=dict)
    interrupted: bool = False
    not_allowed: str | None = None


class Import:
    """One run over many files.

    Args:
        each: called with bytes that were dealt with, sent or not; negative if they are sent again.
        ended: called after each file.
        until_ready: wait for each photo; one that can't be processed counts as failed.
    """

    def __init__(
        self,
        service: Service,
        stopped: threading.Event,
        *,
        connections: int,
        analysis: bool = False,
        until_ready: bool = False,
        each: Callable[[int], None] = lambda _: None,
        ended: Callable[[Summary], None] = lambda _: None,
    ) -> None:
        self.summary = Summary()
        self._service = service
        self._stopped = stopped
        self._connections = connections
        self._analysis = analysis
        self._until_ready = until_ready
        self._each = each
        self._ended = ended

    def run(self, files: Iterable[Found]) -> Summary:
        """Deal with all files, or with those that were begun when `stopped` was set."""
        left = iter(files)
        running: dict[Future[str | None], Found] = {}
        with ThreadPoolExecutor(self._connections) as pool:
            try:
                while True:
                    while len(running) < self._connections * _AHEAD and not self._stopped.is_set():
                        if (file := next(left, None)) is None:
                            break
                        running[pool.submit(self._one, file)] = file
                    if not running:
                        break
                    for future in wait(running, _WAIT_S, return_when=FIRST_COMPLETED).done:
                        self._note(running.pop(future), future)
            except BaseException:
                self._stopped.set()
                raise
        self.summary.interrupted = self._stopped.is_set()
        return self.summary

    def _one(self, file: Found) -> str | None:
        """`done`, `duplicate`, or None if it wasn't begun."""
        if self._stopped.is_set():
            return None
        told_bytes = 0

        def each(sent_bytes: int) -> None:
            nonlocal told_bytes
            told_bytes += sent_bytes
            self._each(sent_bytes)

        try:
            return self._import(file, each)
        finally:
            self._each(file.size_bytes - told_bytes)  # sent or not, it is dealt with

    def _import(self, file: Found, each: Callable[[int], None]) -> str:
        sha256 = sha256_of(file.path)
        created, photo_id = False, self._service.find(sha256)
        if photo_id is None:
            sent = self._service.send(file.path, sha256, analysis=self._analysis, each=each)
            created, photo_id = sent.created, sent.photo_id
        if self._until_ready:
            self._wait(photo_id)
        return "done" if created else "duplicate"

    def _wait(self, photo_id: str) -> None:
        """Raises Failed if it can't be processed; whoever is stopped doesn't know, and it is there anyway."""
        photo = self._service.wait(photo_id)
        if photo is not None and photo["state"] == "failed":
            errors = [task["error"] for task in photo["tasks"] if task["error"]]
            raise Failed(errors[0]["detail"] if errors else "it can't be processed")

    def _note(self, file: Found, future: Future[str | None]) -> None:
        summary = self.summary
        try:
            outcome = future.result()
        except NotAllowed as error:
            summary.failed[file.path] = summary.not_allowed = str(error)
            self._stopped.set()
        except Refused as error:
            summary.refused[file.path] = str(error)
        except (Failed, OSError) as error:
            summary.failed[file.path] = getattr(error, "strerror", None) or str(error)
        else:
            summary.done += outcome == "done"
            summary.duplicates += outcome == "duplicate"
            summary.sent_bytes += file.size_bytes if outcome == "done" else 0
        self._ended(summary)
