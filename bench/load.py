"""The load: uploads by some clients at once, or one at a time, each followed until it is ready."""

from __future__ import annotations

import http.client
import json
import queue
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.photos import Photo

EDGES_PX = (320, 1280, 2048)
_BOUNDARY = "a-boundary-that-no-photo-holds"
_IDLE_S = 1.0  # servers close connections that rest; a new one is made before they may
_POLL_S = 0.1
_CLOSE_POLL_S = 0.02


class LoadError(Exception):
    """The service refused a photo, failed one, made something else of it, or took too long."""


@dataclass
class Visit:
    """One photo's way; times are this machine's clock (POSIX, s), which the database's is too."""

    photo: Photo
    identity: str
    begun_s: float
    answered_s: float
    ready_s: float = 0.0
    """By the service's own word, `ready_at`."""
    seen_s: float = 0.0
    """When a client saw it first; exact only where one is watched closely."""


class Client:
    """One person's kept connection."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers, self._used_s = dict(headers), 0.0

    def upload(self, photo: Photo, text: str) -> Visit:
        """Send a photo as a form, as browsers do, made unlike all others by `text`.

        Raises:
            LoadError: it wasn't taken.
        """
        parts = photo.unique(text)
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{photo.name}"\r\n'
        body = [
            f"{head}Content-Type: image/jpeg\r\n\r\n".encode(),
            *parts,
            f"\r\n--{_BOUNDARY}--\r\n".encode(),
        ]
        headers = {
            "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
            "Content-Length": str(sum(map(len, body))),
        }
        begun_s = time.time()
        answer = self._ask("POST", "/v1/photos", body, headers)
        return Visit(photo, str(answer["id"]), begun_s, time.time())

    def state(self, visit: Visit) -> bool:
        """Whether a photo is ready, with the previews and metadata that it must have.

        Raises:
            LoadError: it failed, or isn't right.
        """
        document = self._ask("GET", f"/v1/photos/{visit.identity}")
        if document["state"] == "processing":
            return False
        if document["state"] != "ready":
            raise LoadError(f"{visit.photo.name} failed: {document}")
        _check(visit.photo, document)
        visit.seen_s = time.time()
        visit.ready_s = datetime.fromisoformat(document["ready_at"].replace("Z", "+00:00")).timestamp()
        return True

    def _ask(
        self,
        method: str,
        path: str,
        body: list[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        if time.monotonic() - self._used_s > _IDLE_S:
            self._connection.close()
        self._connection.request(method, path, body, {**self._headers, **(headers or {})})
        response = self._connection.getresponse()
        text = response.read()
        self._used_s = time.monotonic()
        if response.status not in (200, 202):
            raise LoadError(f"{method} {path} answered {response.status}: {text[:300]!r}")
        return json.loads(text)


def _check(photo: Photo, document: Any) -> None:
    """The same work is asked of everyone: three previews, never enlarged, and where the photo was taken."""
    longest_px = max(photo.kind.width, photo.kind.height)
    wanted = sorted(min(edge_px, longest_px) for edge_px in EDGES_PX)
    made = sorted(max(preview["width"], preview["height"]) for preview in document["previews"])
    if made != wanted:
        raise LoadError(f"{photo.name}: previews of {made} px, not {wanted}")
    if not (document["exif"] or {}).get("latitude"):
        raise LoadError(f"{photo.name}: metadata without GPS: {document['exif']}")


def at_once(
    port: int,
    headers: Mapping[str, str],
    photos: Sequence[Photo],
    *,
    count: int,
    clients: int,
    limit_s: float,
) -> list[Visit]:
    """Upload `count` photos by some clients, each its next when one was answered; wait for all.

    Raises:
        LoadError: not all were ready after `limit_s`, or one went wrong.
    """
    until_s, mark = time.monotonic() + limit_s, f"{time.time_ns()}"
    uploaded: queue.Queue[Visit | Exception] = queue.Queue()
    local = threading.local()

    def upload(number: int) -> None:
        try:
            if not hasattr(local, "client"):
                local.client = Client(port, headers)
            uploaded.put(local.client.upload(photos[number % len(photos)], f"{mark} {number}"))
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            uploaded.put(error)

    watcher = Client(port, headers)
    with _people(clients) as people:
        for number in range(count):
            people.submit(upload, number)
        return [_ready(watcher, _next(uploaded, until_s), until_s, _POLL_S) for _ in range(count)]


def left_waiting(
    port: int, headers: Mapping[str, str], photos: Sequence[Photo], *, count: int
) -> list[Visit]:
    """Upload photos to a service whose worker isn't there yet.

    Raises:
        LoadError: one wasn't taken.
    """
    client, mark = Client(port, headers), f"{time.time_ns()}"
    return [client.upload(photos[number % len(photos)], f"{mark} {number}") for number in range(count)]


def drained(port: int, headers: Mapping[str, str], visits: list[Visit], *, limit_s: float) -> float:
    """Photos a second from the first that was ready to the last, once all of them are.

    Raises:
        LoadError: not all were ready after `limit_s`, or one went wrong.
    """
    until_s, client = time.monotonic() + limit_s, Client(port, headers)
    ready_s = sorted(_ready(client, visit, until_s, _POLL_S).ready_s for visit in visits)
    return (len(ready_s) - 1) / (ready_s[-1] - ready_s[0])


def one_by_one(
    port: int, headers: Mapping[str, str], photos: Sequence[Photo], *, count: int, limit_s: float
) -> list[Visit]:
    """Upload a photo to a service that has nothing else to do, follow it closely, rest, and so on.

    Raises:
        LoadError: not all were ready after `limit_s`, or one went wrong.
    """
    until_s, mark, dice = time.monotonic() + limit_s, f"{time.time_ns()}", random.Random(7)
    client, visits = Client(port, headers), []
    for number in range(count):
        time.sleep(dice.uniform(0.2, 0.6))  # at no fixed step, which a poll of the service's could meet
        visit = client.upload(photos[number % len(photos)], f"{mark} {number}")
        visits.append(_ready(client, visit, until_s, _CLOSE_POLL_S))
    return visits


@contextmanager
def _people(clients: int) -> Iterator[ThreadPoolExecutor]:
    people = ThreadPoolExecutor(clients)
    try:
        yield people
    finally:
        people.shutdown(cancel_futures=True)


def _next(uploaded: queue.Queue[Visit | Exception], until_s: float) -> Visit:
    try:
        visit = uploaded.get(timeout=max(0.0, until_s - time.monotonic()))
    except queue.Empty:
        raise LoadError("the uploads took too long") from None
    if isinstance(visit, Exception):
        raise LoadError(f"an upload failed: {visit!r}") from visit
    return visit


def _ready(client: Client, visit: Visit, until_s: float, poll_s: float) -> Visit:
    """Ask for the photo that came first of those not ready: one request each, and one each `poll_s`."""
    while not client.state(visit):
        if time.monotonic() > until_s:
            raise LoadError(f"{visit.photo.name} ({visit.identity}) isn't ready in time")
        time.sleep(poll_s)
    return visit
