"""One reader of events for all streams of a process: the database is asked once, however many listen."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection

from api.stream import Stream, StreamEnded, gone
from observability.outage import Outage
from photos.feed import Feed, Mark
from tasks.wire import Wire

logger = logging.getLogger(__name__)

POLL_S = 1.0
# What is held up by a running transaction is looked for again after this, and words that come together are
# heard as one.
_SOON_S = 0.05
_BATCH = 1_000
_KEYS_S = 20.0


class Hub:
    """Reads events as they come, and hands each to the streams that it is for.

    Its thread runs from the first stream on. Without streams it asks nobody anything.

    Args:
        live_keys: which of the given keys may still be used.
        told: is called with how many streams there are, whenever that changes.
    """

    def __init__(
        self,
        feed: Feed,
        wire: Wire,
        live_keys: Callable[[Collection[str]], set[str]],
        told: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._feed = feed
        self._wire = wire
        self._live_keys = live_keys
        self._told = told
        self._alive: Callable[[], bool] = lambda: True
        self._streams: set[Stream] = set()
        self._mark: Mark | None = None
        self._keys_at_s = 0.0
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._outage = Outage("events", logger)

    def watch(self, alive: Callable[[], bool]) -> None:
        """End all streams as soon as `alive` says no: gunicorn's worker is told to stop."""
        self._alive = alive

    def add(self, stream: Stream) -> Mark:
        """Hand the stream all events from now on, which is from behind the mark.

        Raises:
            DatabaseAway
            StreamEnded: this process is stopping.
        """
        with self._lock:
            if self._stopped or not self._alive():
                raise StreamEnded
            if self._mark is None or not self._streams:
                self._mark = self._feed.horizon().mark
            begun = self._mark
            self._streams.add(stream)
            self._told(len(self._streams))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="events", daemon=True)
                self._thread.start()
            self._wanted.set()
        return begun

    def remove(self, stream: Stream) -> None:
        """Hand it nothing any more."""
        with self._lock:
            self._streams.discard(stream)
            self._told(len(self._streams))
            if not self._streams:
                self._wanted.clear()

    def told_up_to(self, stream: Stream) -> Mark | None:
        """Up to where the stream was handed everything, if it has nothing left of it."""
        with self._lock:
            return self._mark if stream.is_idle else None

    def stop(self) -> None:
        """End all streams, and take no more."""
        self._stopped = True
        self._wire.stop()
        self._wanted.set()
        self._end(lambda stream: True)

    def _run(self) -> None:
        while not self._stopped:
            if not self._wanted.wait(POLL_S):
                continue
            pause_s = POLL_S
            try:
                pause_s = self._round()
                self._outage.worked()
            except Exception as error:  # noqa: BLE001 - whatever it is, the streams stay for the next round
                self._outage.failed(error)
            if pause_s:
                self._wire.wait(pause_s)
                threading.Event().wait(_SOON_S)
                self._wire.drain()

    def _round(self) -> float:
        """Hand out what is new; returns how long to wait for more, in seconds."""
        if not self._alive():
            self._end(lambda stream: True)
        with self._lock:
            since, streams = self._mark, list(self._streams)
        if since is None:
            return POLL_S
        for stream in streams:
            stream.abort_if_stuck()
        for stream in gone(streams):
            stream.end()
        self._end_revoked(streams)
        batch = self._feed.after(since.position, limit=_BATCH)
        with self._lock:
            if self._mark == since:  # else the last stream went meanwhile, and another came
                for event in batch.events:
                    for stream in self._streams:
                        stream.offer(event)
                self._mark = batch.mark
        if batch.more:
            return 0.0
        return _SOON_S if batch.held_up else POLL_S

    def _end_revoked(self, streams: list[Stream]) -> None:
        if not streams or time.monotonic() < self._keys_at_s:
            return
        live = self._live_keys({stream.key_id for stream in streams})
        self._end(lambda stream: stream in streams and stream.key_id not in live)
        self._keys_at_s = time.monotonic() + _KEYS_S

    def _end(self, which: Callable[[Stream], bool]) -> None:
        with self._lock:
            for stream in self._streams:
                if which(stream):
                    stream.end()
