"""Given a folder, when it is imported into a running service, then all of it is there, and told of, once."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests
from flask import Flask, Response, request

from tests.pictures import jpeg
from tests.slow_service import serving
from tests.stack import Stack
from tests.waiting import until

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = "/"  # the command is to find its code by itself


@pytest.fixture
def key(stack: Stack) -> str:
    """A key of an owner that nobody had before."""
    return stack.key(uuid4().hex)["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six photos, two of which are the same, a text, an empty file, a hidden one, and odd names."""
    folder = tmp_path / "photos"
    (folder / "2024" / "été").mkdir(parents=True)
    (folder / ".thumbnails").mkdir()
    for number in range(3):
        (folder / f"{number}.jpg").write_bytes(jpeg(seed=number))
    (folder / "2024" / "twin of 0.jpg").write_bytes(jpeg(seed=0))
    (folder / "2024" / "été" / '"quoted" ünï.jpg').write_bytes(jpeg(seed=3))
    Path(os.fsdecode(os.fsencode(folder / "2024") + b"/latin-\xe9.jpg")).write_bytes(jpeg(seed=4))
    (folder / "notes.txt").write_text("not a photo\n" * 1000)
    (folder / "empty.jpg").touch()
    (folder / ".hidden.jpg").write_bytes(jpeg(seed=98))
    (folder / ".thumbnails" / "small.jpg").write_bytes(jpeg(seed=99))
    return folder


def command(stack: Stack, *arguments: str) -> list[str]:
    """`safelight import` for a stack, as `make` installs it."""
    program = Path(sys.executable).parent / "safelight"
    return [str(program), "import", "--url", f"http://127.0.0.1:{stack.settings.port}", *arguments]


def run(stack: Stack, key: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        command(stack, *arguments),
        cwd=ELSEWHERE,
        env={**os.environ, "SAFELIGHT_KEY": key},
        capture_output=True,
        text=True,
        timeout=100,
    )


def photos(stack: Stack, key: str) -> list[dict[str, Any]]:
    """All photos of the key's owner."""
    answer = stack.get("/v1/photos?limit=200", {"Authorization": f"Bearer {key}"})
    found: list[dict[str, Any]] = answer.json["photos"]
    return found


def test_a_folder_is_imported_and_what_is_no_photo_is_told(stack: Stack, key: str, folder: Path) -> None:
    done = run(stack, key, str(folder))
    assert done.returncode == 0, done.stderr
    assert "8 files: 5 done" in done.stdout
    assert "1 there already, 2 refused, 0 failed" in done.stdout
    assert f"refused  {folder / 'notes.txt'}: " in done.stderr
    assert "not-an-image" in done.stderr
    names = {photo["filename"] for photo in photos(stack, key)}
    assert names >= {"1.jpg", "2.jpg", '"quoted" ünï.jpg', "latin-\ufffd.jpg"}
    assert len(photos(stack, key)) == 5


def test_what_is_there_is_not_sent_again(stack: Stack, key: str, folder: Path) -> None:
    run(stack, key, str(folder))
    again = run(stack, key, "--json", str(folder))
    summary = json.loads(again.stdout)
    assert (summary["done"], summary["duplicates"], summary["sent_bytes"]) == (0, 6, 0)
    assert {Path(each["file"]).name for each in summary["refused"]} == {"notes.txt", "empty.jpg"}
    assert again.returncode == 0


def test_it_waits_until_photos_are_ready_and_tells_those_that_fail(
    stack: Stack, key: str, tmp_path: Path
) -> None:
    (tmp_path / "good.jpg").write_bytes(jpeg(seed=11))
    (tmp_path / "cut.jpg").write_bytes(jpeg(800, 600, seed=12)[:700])
    stack.expected.append("task failed")
    done = run(stack, key, "--wait", str(tmp_path))
    assert done.returncode == 1, done.stdout
    assert "1 done" in done.stdout
    assert "cut.jpg: " in done.stderr
    assert [photo["state"] for photo in photos(stack, key) if photo["filename"] == "good.jpg"] == ["ready"]


@pytest.mark.parametrize(
    ("key_text", "told"),
    [("sl_0123456789ab_" + "0" * 48, "unknown, expired or revoked"), ("", "give a key"), ("é", "key can't")],
)
def test_a_wrong_key_is_told_at_once(stack: Stack, folder: Path, key_text: str, told: str) -> None:
    refused = run(stack, key_text, str(folder))
    assert refused.returncode in (1, 2)
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_key_without_the_scopes_is_told_at_once(stack: Stack, folder: Path) -> None:
    text = stack.key(uuid4().hex, "photos:read")["Authorization"].removeprefix("Bearer ")
    refused = run(stack, text, str(folder))
    assert (refused.returncode, "it lacks the scope photos:write" in refused.stderr) == (1, True)


def test_no_service_is_told_at_once(stack: Stack, key: str, folder: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "import", "--url", "http://127.0.0.1:9", str(folder)],
        cwd=ROOT,
        env={
            **os.environ,
            "SAFELIGHT_KEY": key,
            "SAFELIGHT_DATABASE_URL": stack.settings.database_url,
            "SAFELIGHT_REDIS_URL": stack.settings.redis_url,
            "SAFELIGHT_STORAGE_URL": stack.settings.storage_url,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 1
    assert "http://127.0.0.1:9: the service can't be reached" in refused.stderr


@pytest.fixture
def unsteady(stack: Stack) -> Iterator[tuple[str, list[str]]]:
    """(address, uploads) of a proxy that answers the first upload of each name with 503."""
    app, uploads = Flask("unsteady"), list[str]()
    lock = threading.Lock()
    passed = ("Authorization", "Content-Disposition", "Content-Type", "Repr-Digest")

    @app.route("/<path:path>", methods=["GET", "POST"])
    def forward(path: str) -> Response:
        name = request.headers.get("Content-Disposition", "")
        with lock:
            first = request.method == "POST" and name not in uploads
            if request.method == "POST":
                uploads.append(name)
        if first:
            request.get_data()
            return Response(
                '{"detail": "full", "code": "temporary-reduced-capacity"}', 503, {"Retry-After": "0"}
            )
        answer = requests.request(
            request.method,
            f"http://127.0.0.1:{stack.settings.port}/{path}",
            params=request.args,
            data=request.get_data(),
            headers={name: request.headers[name] for name in passed if name in request.headers},
            timeout=30,
        )
        return Response(answer.content, answer.status_code)

    with serving(app) as address:
        yield address, uploads


def test_what_may_succeed_later_is_tried_again(
    stack: Stack, key: str, folder: Path, unsteady: tuple[str, list[str]]
) -> None:
    address, uploads = unsteady
    done = run(stack, key, "--url", address, str(folder))
    assert done.returncode == 0, done.stderr
    assert "5 done" in done.stdout
    assert len(uploads) >= 10


def test_after_ctrl_c_it_goes_on_where_it_was(stack: Stack, key: str, tmp_path: Path) -> None:
    count = 60
    for number in range(count):
        (tmp_path / f"{number:03}.jpg").write_bytes(jpeg(seed=number))
    process = subprocess.Popen(
        command(stack, "--connections", "2", "--json", str(tmp_path)),
        cwd=ELSEWHERE,
        env={**os.environ, "SAFELIGHT_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: len(photos(stack, key)) >= 3)
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=60)
    first = json.loads(told)
    assert (process.returncode, first["interrupted"]) == (130, True), errors
    assert 3 <= first["done"] < count

    second = json.loads(run(stack, key, "--json", str(tmp_path)).stdout)
    assert (second["done"], second["duplicates"]) == (count - first["done"], first["done"])
    assert len(photos(stack, key)) == count


def test_the_key_counts_and_not_the_machines_netrc(
    stack: Stack, key: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login someone password something-else\n")
    (tmp_path / ".netrc").chmod(0o600)
    done = subprocess.run(
        command(stack, "--json", str(folder)),
        cwd=ELSEWHERE,
        env={**os.environ, "SAFELIGHT_KEY": key, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert json.loads(done.stdout)["done"] == 5, done.stderr


def test_an_address_that_is_no_safelight_is_told(stack: Stack, key: str, folder: Path) -> None:
    refused = run(stack, key, "--url", f"http://127.0.0.1:{stack.settings.port}/elsewhere", str(folder))
    assert refused.returncode == 1
    assert "elsewhere: " in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.fixture
def hanging() -> Iterator[tuple[str, threading.Event]]:
    """(address, asked) of a service that takes uploads and doesn't answer."""
    app, asked, over = Flask("hanging"), threading.Event(), threading.Event()

    @app.route("/v1/me")
    def me() -> dict[str, list[str]]:
        return {"scopes": ["admin"]}

    @app.route("/v1/photos", methods=["GET", "POST"])
    def photos() -> dict[str, list[str]]:
        if request.method == "POST":
            asked.set()
            over.wait(60)
        return {"photos": []}

    with serving(app) as address:
        yield address, asked
        over.set()


def test_a_second_ctrl_c_ends_at_once(
    stack: Stack, folder: Path, hanging: tuple[str, threading.Event]
) -> None:
    address, asked = hanging
    process = subprocess.Popen(
        command(stack, "--url", address, str(folder)),
        cwd=ELSEWHERE,
        env={**os.environ, "SAFELIGHT_KEY": "any"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asked.wait(30)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    while "Stopping" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.stderr.close()


def test_progress_is_shown_on_a_terminal(stack: Stack, key: str, folder: Path) -> None:
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        command(stack, str(folder)),
        cwd=ELSEWHERE,
        env={**os.environ, "SAFELIGHT_KEY": key, "TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(main, 65_536)
        except OSError:
            break
    os.close(main)
    assert process.wait(60) == 0
    assert b"100%" in shown
    assert b"B/s" in shown
