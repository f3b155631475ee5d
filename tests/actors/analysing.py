"""The whole worker in this process, over a real slow service, and a client of the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dramatiq

from actors.worker import declare_all
from config import Settings
from tests.http import Answer, Client
from tests.pictures import jpeg
from tests.waiting import until


@contextmanager
def working(settings: Settings) -> Iterator[dramatiq.Broker]:
    """A worker of all queues, until the block ends."""
    broker = declare_all(settings)
    worker = dramatiq.Worker(broker, worker_threads=settings.worker_slots, worker_timeout=50)
    worker.start()
    try:
        yield broker
    finally:
        worker.stop(timeout=5_000)


class Person:
    """Someone who has photos analysed."""

    def __init__(self, client: Client, key: dict[str, str]) -> None:
        self.client = client
        self.key = key

    def upload(self, query: str = "", seed: int = 0) -> str:
        """Upload a photo; returns its id."""
        answer = self.client.post(f"/v1/photos{query}", data=jpeg(32, 24, seed=seed), headers=self.key)
        assert answer.status in (200, 202), answer.body
        return str(answer.json["id"])

    def ask(self, photo_id: str, query: str = "") -> Answer:
        """Have a photo analysed."""
        return self.client.post(f"/v1/photos/{photo_id}/analysis{query}", headers=self.key)

    def photo(self, photo_id: str) -> Any:
        """The photo as it is."""
        return self.client.get(f"/v1/photos/{photo_id}", headers=self.key).json

    def analysis(self, photo_id: str) -> Any:
        """Its analysis as it is."""
        return self.photo(photo_id)["analysis"]

    def wait(self, photo_id: str, state: str = "complete", timeout_s: float = 30) -> Any:
        """Its analysis, once it is in a state."""
        until(
            lambda: (self.analysis(photo_id) or {"state": None})["state"] == state,
            timeout_s=timeout_s,
        )
        return self.analysis(photo_id)

    def ready(self, photo_id: str) -> None:
        """Wait until previews and metadata are there."""
        until(lambda: self.photo(photo_id)["state"] == "ready", timeout_s=60)
