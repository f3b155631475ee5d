"""The examples of docs/api.md do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.pictures import jpeg
from tests.stack import Stack

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def example(language: str, number: int = 0) -> str:
    """One of the page's blocks of a language."""
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number])


def run(folder: Path, stack: Stack, *command: str) -> str:
    """Run an example in a folder with two photos; it must succeed."""
    (folder / "photo.jpg").write_bytes(jpeg(640, 480, seed=1))
    (folder / "other.jpg").write_bytes(jpeg(640, 480, seed=2))
    key = stack.key(uuid4().hex)["Authorization"].removeprefix("Bearer ")
    address = f"http://127.0.0.1:{stack.settings.port}"
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "SAFELIGHT": address, "KEY": key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_curl(stack: Stack, tmp_path: Path) -> None:
    said = run(tmp_path, stack, "bash", "-euo", "pipefail", "-c", example("sh", 1))
    assert json.loads((tmp_path / "ready.json").read_text())["state"] == "ready"
    assert (tmp_path / "medium.jpg").read_bytes().startswith(b"\xff\xd8")
    assert json.loads((tmp_path / "exif.json").read_text())["exif"]
    assert (tmp_path / "head.bin").stat().st_size == 1000
    results = re.search(r'\{"results":.*?\]\}\n', said)
    assert results
    assert [result["status"] for result in json.loads(results[0])["results"]] == [200, 202]


def test_python(stack: Stack, tmp_path: Path) -> None:
    said = run(tmp_path, stack, sys.executable, "-c", example("python"))
    assert said.splitlines()[0] == "ready 640 480"
    assert all((tmp_path / f"{size}.jpg").is_file() for size in ("small", "medium", "large"))


@pytest.mark.slow
def test_javascript(stack: Stack, tmp_path: Path) -> None:
    assert shutil.which("node"), "node is missing (Debian: apt-get install nodejs)"
    (tmp_path / "example.mjs").write_text(example("js"))
    said = run(tmp_path, stack, "node", "example.mjs")
    assert said.startswith("ready [")
    assert "text/event-stream" in said
