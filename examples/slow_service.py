"""A slow service that knows more of photos than their files say: what `SAFELIGHT_ANALYSIS_URL=demo` asks.

It answers as services of this sort do: part of the data at once, the rest after a few more questions, and
now and then an error. It speaks both dialects of docs/analysis.md: `/body` and `/operations`.

    python examples/slow_service.py --port 9000 --polls 3 --errors 0.1
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from flask import Flask, Response, g, jsonify, request, url_for

FAULTS = ("error", "lost", "hang", "garbage", "drip")


@dataclass
class Behaviour:
    """How the service behaves; it may be changed while it runs.

    Attributes:
        polls: how often a job is "still processing" before it is done.
        delay_s: how long each answer takes.
        retry_after_s: what it asks its clients to wait; None: it says nothing.
        errors: share of calls that meet one of `faults`.
        hang_s: how long a call that hangs does.
        down: whether every call is answered 503.
    """

    polls: int = 3
    delay_s: float = 0.0
    retry_after_s: float | None = 2.0
    errors: float = 0.0
    faults: tuple[str, ...] = ("error",)
    hang_s: float = 30.0
    down: bool = False


@dataclass
class Job:
    """One analysis."""

    photo: dict[str, Any]
    answers: int = 0


@dataclass
class Jobs:
    """All that was asked.

    Attributes:
        calls: of all sorts, faulty ones included.
        photos: how often each photo's analysis was begun.
        order: the photo of each good answer, in their order.
    """

    by_key: dict[str, Job] = field(default_factory=dict)
    calls: int = 0
    photos: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, key: str, photo: dict[str, Any]) -> Job:
        """The job of an idempotency key; a new one if it is new."""
        with self.lock:
            if key not in self.by_key:
                self.by_key[key] = Job(photo)
                self.photos[str(photo.get("id"))] += 1
            return self.by_key[key]

    def answer(self, job: Job, polls: int) -> dict[str, Any]:
        """What is known of a photo by now."""
        with self.lock:
            job.answers += 1
            self.order.append(str(job.photo.get("id")))
        exif = job.photo.get("exif") or {}
        known: list[tuple[str, Any]] = [
            ("place", {"latitude": exif.get("latitude"), "longitude": exif.get("longitude")}),
            ("labels", [{"name": name, "score": 0.9} for name in ("outdoors", "water")]),
            ("faces", []),
            ("moderation", {"safe": True}),
        ]
        done = job.answers > polls
        data = dict(known if done else known[: min(job.answers, len(known) - 1)])
        return {"status": "done" if done else "processing", "data": data}


def create_app(behaviour: Behaviour, jobs: Jobs | None = None) -> Flask:
    """The service, over jobs in memory."""
    app = Flask(__name__)
    jobs = jobs or Jobs()

    @app.before_request
    def misbehave() -> Response | None:
        with jobs.lock:
            jobs.calls += 1
        time.sleep(behaviour.delay_s)
        if behaviour.down:
            return Response("away", 503)
        if random.random() >= behaviour.errors:  # noqa: S311
            return None
        fault = random.choice(behaviour.faults)  # noqa: S311
        g.lost = fault == "lost"
        return None if g.lost else _fault(fault, behaviour)

    @app.after_request
    def lose(response: Response) -> Response:
        return Response("done, but not told", 500) if g.get("lost") else response

    @app.post("/body")
    def body() -> Response:
        """Asked again and again with the same question."""
        job = jobs.begin(request.headers.get("Idempotency-Key") or uuid4().hex, _photo())
        return _paced(jsonify(jobs.answer(job, behaviour.polls)), behaviour)

    @app.post("/operations")
    def begin() -> Response:
        """202 with the URL of an operation."""
        key = request.headers.get("Idempotency-Key") or uuid4().hex
        response = jsonify(jobs.answer(jobs.begin(key, _photo()), behaviour.polls))
        response.status_code = 202
        response.headers["Operation-Location"] = url_for("operation", key=key)
        return _paced(response, behaviour)

    @app.get("/operations/<key>")
    def operation(key: str) -> Response:
        """202 until it is done, then 200."""
        if key not in jobs.by_key:
            return Response("no such operation", 404)
        said = jobs.answer(jobs.by_key[key], behaviour.polls)
        response = jsonify(said["data"] if said["status"] == "done" else said)
        response.status_code = 200 if said["status"] == "done" else 202
        return _paced(response, behaviour)

    return app


def _photo() -> dict[str, Any]:
    photo: dict[str, Any] = request.get_json()["photo"]
    return photo


def _paced(response: Response, behaviour: Behaviour) -> Response:
    if behaviour.retry_after_s is not None:
        response.headers["Retry-After"] = f"{behaviour.retry_after_s:g}"
    return response


def _fault(fault: str, behaviour: Behaviour) -> Response:
    if fault == "error":
        return Response("something broke", 500)
    if fault == "garbage":
        return Response(b'{"status": "done", "da\xff', 200, content_type="application/json")
    if fault == "hang":
        time.sleep(behaviour.hang_s)
        return Response("too late", 504)

    def drip() -> Any:
        until_s = time.monotonic() + behaviour.hang_s
        while time.monotonic() < until_s:
            yield b" "
            time.sleep(0.05)

    return Response(drip(), 200, content_type="application/json")


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--polls", type=int, default=3, help="answers before the last that are partial")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that an answer takes")
    parser.add_argument("--retry-after", type=float, default=2.0, help="seconds that clients are to wait")
    parser.add_argument("--errors", type=float, default=0.0, help="share of calls that fail, 0 to 1")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=["error"])
    given = parser.parse_args()
    behaviour = Behaviour(
        given.polls, given.delay, given.retry_after, given.errors, tuple(given.faults), hang_s=30.0
    )
    create_app(behaviour).run("127.0.0.1", given.port, threaded=True)


if __name__ == "__main__":
    main()
