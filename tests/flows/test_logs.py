"""Given what went through the service, when its logs are read, then they tell the story, and no secret."""

from __future__ import annotations

import base64
import io
import json
import re
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from PIL import Image

from tests.pictures import jpeg, picture
from tests.stack import Stack, environment
from tests.waiting import until

ROOT = Path(__file__).parent.parent.parent
OWNER_NAME, SERIAL, ARTIST = "Wilhelmina-Camera-Owner", "SERIAL-8813-XJ-7", "Artist-Of-Nobodys-Business"
LATITUDE = "47.123457"
CONTENT = "BYTES-OF-THE-FILE-ITSELF"


@pytest.fixture
def key(stack: Stack) -> dict[str, str]:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)


def lines(stack: Stack, name: str, **fields: object) -> list[dict[str, Any]]:
    """The lines of a process that have all of these fields."""
    entries = [json.loads(line) for line in stack.log(name).splitlines()]
    return [entry for entry in entries if fields.items() <= entry.items()]


def traced(trace_id: str) -> dict[str, str]:
    """The header of a client that traces."""
    return {"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}


def trace(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`flask trace ARGUMENTS` as on-call runs it."""
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "trace", *arguments],
        cwd=ROOT,
        env=environment(stack.settings),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_one_trace_leads_from_the_upload_to_the_end_of_its_tasks(stack: Stack, key: dict[str, str]) -> None:
    trace_id, request_id = secrets.token_hex(16), f"proxy.{uuid4()}"
    answer = stack.ask(
        "POST",
        "/v1/photos",
        body=(data := jpeg(seed=31)),
        headers={**key, **traced(trace_id), "X-Request-ID": request_id},
    )
    assert (answer.headers["X-Request-ID"], answer.headers["X-Trace-ID"]) == (request_id, trace_id)
    photo = stack.wait_ready(answer.json, key)

    [access] = lines(stack, "api", trace_id=trace_id, message="answered")
    assert access["request_id"] == request_id
    assert access["photo_id"] == photo["id"]
    assert (access["method"], access["route"], access["status"]) == ("POST", "/v1/photos", 202)
    assert (access["bytes_in"], access["bytes_out"]) == (len(data), len(answer.body))
    assert access["duration_s"] > 0
    assert key["Authorization"].startswith(f"Bearer sl_{access['key_id']}_")

    until(lambda: len(lines(stack, "worker", trace_id=trace_id, message="task completed")) == 2)
    ended = lines(stack, "worker", trace_id=trace_id)
    assert {line["photo_id"] for line in ended} == {photo["id"]}
    assert {line["task_id"] for line in ended} == {task["id"] for task in photo["tasks"]}
    assert sorted(line["kind"] for line in ended) == ["exif", "preview"]
    for line in ended:
        assert line["attempt"] == "1"
        assert line["worker"]
        assert line["ran_s"] > 0
        assert line["waited_s"] >= 0


def test_a_failed_photo_is_explained_by_its_trace(stack: Stack, key: dict[str, str]) -> None:
    trace_id = secrets.token_hex(16)
    photo = stack.upload(jpeg(2000, 1500, seed=32)[:500], key, **traced(trace_id))
    stack.wait_done(photo, key)
    until(lambda: bool(lines(stack, "worker", trace_id=trace_id, message="task failed")))
    [failed] = lines(stack, "worker", photo_id=photo["id"], kind="preview")
    assert (failed["level"], failed["error_type"]) == ("warning", "truncated-image")
    assert "ends too early" in failed["error"] or "first tenth" in failed["error"]

    told = trace(stack, photo["id"])
    assert told.returncode == 0, told.stderr
    assert f"trace_id={trace_id}" in told.stdout
    assert "error_type=truncated-image" in told.stdout
    assert re.search(r"photo +failed", told.stdout)
    assert "Traceback" not in told.stdout
    assert "Traceback" in trace(stack, photo["id"], "--tracebacks").stdout


def test_the_story_of_a_photo_is_told_in_order(stack: Stack, key: dict[str, str]) -> None:
    trace_id = secrets.token_hex(16)
    photo = stack.wait_ready(stack.upload(jpeg(seed=33), key, **traced(trace_id)), key)
    story = [json.loads(line) for line in trace(stack, photo["id"], "--json").stdout.splitlines()]
    assert [moment["offset_s"] for moment in story] == sorted(moment["offset_s"] for moment in story)
    assert story[0]["event"] == "photo-accepted"
    assert story[0]["trace_id"] == trace_id
    assert story[-1]["event"] == "photo-ready"
    for kind in ("preview", "exif"):
        events = [moment["event"] for moment in story if moment.get("kind") == kind]
        assert events == ["task-submitted", "task-started", "task-completed"]
    of_a_task = trace(stack, photo["tasks"][0]["id"], "--json").stdout
    assert [json.loads(line) for line in of_a_task.splitlines()] == story


def test_every_line_is_a_json_object_even_of_what_no_server_should_get(
    stack: Stack, key: dict[str, str]
) -> None:
    before = len(stack.log("api"))
    nasty = "\x85\x9b31m\xe2\x80\xae" + "x" * 5_000
    stack.ask("GET", "/v1/photos", headers={**key, "User-Agent": nasty, "X-Request-ID": nasty})
    stack.ask("GET", "/v1/%0a%1b%5b2J%e2%80%ae%ed%a0%80%ff" + "y" * 3_000)
    stack.upload(jpeg(seed=34), {**key, "Content-Disposition": 'attachment; filename="a%0a%ff.jpg"'})
    _raw(stack, b"GET /v1/photos HTTP/1.1\r\nHost: x\r\nBroken\x00\n: \xff\xfe\r\n\r\n")
    _raw(stack, b"\xff\xfe\x1b[2J\n\n\n HTTP/9.9\r\n\r\n")
    until(lambda: stack.log("api").count("Invalid request") >= 2)
    added = stack.log("api")[before:]
    assert len(added.splitlines()) >= 5
    for line in added.splitlines() + stack.log("worker").splitlines():
        assert isinstance(json.loads(line), dict)
        assert line.isprintable()
        assert len(line) < 30_000


def test_no_key_no_exif_and_no_content_gets_into_any_log(stack: Stack, key: dict[str, str]) -> None:
    secret = key["Authorization"].rpartition("_")[2]
    wrong = "sl_00112233aabb_" + "fedcba9876543210" * 3
    other, basic = "a-key-of-another-service", base64.b64encode(b"anna:sesame-open-please").decode()
    done = [stack.wait_done(stack.upload(data, key), key) for data in _telling_photos()]
    assert {photo["state"] for photo in done} == {"ready", "failed"}
    assert OWNER_NAME in stack.get(f"/v1/photos/{done[0]['id']}/exif", key).body.decode()

    asked = [
        {"Authorization": f"Bearer {wrong}"},
        {"Authorization": f"Bearer {other}"},
        {"Authorization": other},
        {"Authorization": f"Basic {basic}"},
        {"X-Request-ID": wrong, "traceparent": wrong, "User-Agent": wrong, "Cookie": f"key={wrong}"},
    ]
    for headers in asked:
        for path in (f"/v1/photos?key={wrong}&access_token={other}", f"/v1/photos/{wrong}", f"/{other}"):
            assert stack.ask("GET", path, headers=headers).status in (401, 404)
    stack.ask("POST", "/v1/photos", body=f"{CONTENT} and {wrong}".encode() * 100, headers=key)
    for header in (f"Authorization Bearer {wrong}", f"Authorization: Basic {basic}\0", f"{wrong}\0: x"):
        _raw(stack, f"GET /v1/photos?key={wrong} HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
    until(lambda: len(lines(stack, "api", route="/v1/photos", status=401)) >= 5)
    until(lambda: len(lines(stack, "worker", photo_id=done[0]["id"], message="task completed")) == 2)

    for name in ("api", "worker"):
        log = stack.log(name)
        for telling in (secret, wrong.rpartition("_")[2], other, basic, "sesame"):
            assert telling not in log
        for telling in (OWNER_NAME, SERIAL, ARTIST, LATITUDE, CONTENT):
            assert telling not in log


def _raw(stack: Stack, request: bytes) -> None:
    """What no HTTP client would send."""
    with socket.create_connection(("127.0.0.1", stack.settings.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def _telling_photos() -> list[bytes]:
    """A good photo, a damaged one, one with a damaged EXIF: full of what is nobody else's business."""
    exif = Image.Exif()
    exif[0x013B] = ARTIST
    details = exif.get_ifd(0x8769)
    details[0xA430], details[0xA431] = OWNER_NAME, SERIAL
    exif.get_ifd(0x8825).update({1: "N", 2: (47.0, 7.0, 24.4452), 3: "E", 4: (8.0, 30.0, 0.0)})
    whole = _saved("JPEG", exif, comment=CONTENT.encode())
    tiff = _saved("TIFF", exif)
    marker = whole.index(b"Exif\0\0")
    damaged = whole[: marker + 14] + b"\xff" * 8 + whole[marker + 22 :]
    return [whole, whole[:700], damaged, tiff]


def _saved(kind: str, exif: Image.Exif, **options: Any) -> bytes:
    out = io.BytesIO()
    picture(800, 600, seed=secrets.randbelow(10**9)).save(out, kind, exif=exif.tobytes(), **options)
    return out.getvalue()
