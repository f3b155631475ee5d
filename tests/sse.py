"""A client of event streams, on a connection of its own, that reads as the events come."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.waiting import until


@dataclass
class Listener:
    """Reads one stream in a thread, until it ends.

    Attributes:
        events: (id, type, data) of all that was told.
        last_id: what to come again with.
    """

    port: int
    path: str
    headers: Mapping[str, str]
    status: int = 0
    last_id: str = ""
    events: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def __enter__(self) -> Listener:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self._connection.request("GET", self.path, headers=dict(self.headers))
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(2)
        self._thread.join()
        self._connection.close()

    @property
    def ended(self) -> bool:
        """Whether the stream is over."""
        return not self._thread.is_alive()

    def types(self, photo_id: str | None = None) -> list[str]:
        """What was told, or what was told of one photo."""
        return [kind for _, kind, data in list(self.events) if photo_id in (None, data.get("photo_id"))]

    def wait(self, event: str, photo_id: str | None = None, *, timeout_s: float = 30) -> None:
        """Wait until it was told."""
        until(lambda: event in self.types(photo_id), timeout_s=timeout_s)

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self._response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                    continue
                self.last_id = fields.get("id", self.last_id)
                if "event" in fields:
                    self.events.append((self.last_id, fields["event"], json.loads(fields["data"])))
                fields = {}
        except (OSError, http.client.HTTPException):
            pass  # cut off: it comes again with what it has
