"""Pictures of the console for the docs: each view in both themes, of a real service at work.

python -m bench.screenshots --minutes 3
"""

from __future__ import annotations

import argparse
import io
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from bench.dashboards import PICTURES as DASHBOARDS
from bench.dashboards import production_settings
from bench.landscapes import LIGHTS, landscape
from bench.task_stack import Servers
from config import Settings
from tests.console.conftest import CHROMIUM, sign_in
from tests.http import multipart
from tests.stack import Stack

PICTURES = DASHBOARDS.parent / "console"
_LARGEST_BYTES = 80 * 1024
_SIZE = {"width": 1280, "height": 800}
_PHOTOS, _CUT, _LOST = 36, 5, 4
_WHOLE = "document.querySelector('main img').naturalWidth > 320"
_PER_S = 4.0
_SECOND = ("dramatiq", "actors", "--skip-logging", "--processes", "1", "--threads", "3")
# Each view's place, and what is there once it can be seen.
_VIEWS = {
    "photos": ("/photos", "main img"),
    "photo": ("/photos/{photo}", ".task li"),
    "queues": ("/queues", ".workers li"),
    "dead-letters": ("/dead-letters", "li.group"),
    "dead-letter": ("/dead-letters?task={task}", "ol.history li"),
    "system": ("/system", ".stacks.keys td"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="how long the service works before")
    parser.add_argument("--to", type=Path, default=PICTURES)
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sl-") as name:
        folder = Path(name)
        with Servers(folder) as servers, Stack(_settings(servers, folder), folder) as stack:
            stack.expected.append("object-missing")
            stack.start("second", *_SECOND)
            key = stack.key("anna", "admin")
            places = fill(stack, key)
            with at_work(stack, stack.key("robot"), arguments.minutes * 60), _browser() as browser:
                for dark in (False, True):
                    take(browser, stack, key, places, dark=dark, to=arguments.to)


def fill(stack: Stack, key: dict[str, str]) -> dict[str, str]:
    """Upload photos, good and cut ones; have some lose their originals. Returns a photo's and a task's id."""
    for seed in range(_CUT):
        name, data = landscape(100 + seed)
        upload(stack, key, name, data[: 700 + seed])
    ids = [upload(stack, key, *landscape(seed)) for seed in range(_PHOTOS)]
    for photo_id in ids:
        stack.wait_ready({"id": photo_id}, key)
    for photo_id in ids[:_LOST]:
        stored = "SELECT original_key FROM photos WHERE id = CAST(:id AS uuid)"
        [(name,)] = stack.query(stored, id=photo_id)
        (Path(urlsplit(stack.settings.storage_url).path) / name).unlink()
        stack.ask("POST", f"/v1/photos/{photo_id}/reprocess", headers=key)
        lost = stack.wait_done({"id": photo_id}, key)
    return {"photo": ids[-4], "task": lost["tasks"][0]["id"]}


def upload(stack: Stack, key: dict[str, str], name: str, data: bytes) -> str:
    """Upload one photo under its name; returns its id."""
    body, content_type = multipart(("file", name, data))
    answer = stack.ask("POST", "/v1/photos", body=body, headers={**key, "Content-Type": content_type})
    assert answer.status in (200, 202), answer.body
    return str(answer.json["id"])


@contextmanager
def at_work(stack: Stack, key: dict[str, str], warm_s: float) -> Iterator[None]:
    """Someone uploads meanwhile, and has done so for a while before."""
    over = threading.Event()
    drawn = [landscape(1_000 + seed) for seed in range(len(LIGHTS))]

    def work() -> None:
        number = 0
        while not over.is_set():
            name, data = drawn[number % len(drawn)]
            upload(stack, key, name, data + number.to_bytes(4, "big"))  # other bytes: another photo
            number += 1
            over.wait(1 / _PER_S * (0.4 + number // 40 % 3))

    someone = threading.Thread(target=work)
    someone.start()
    try:
        over.wait(warm_s)
        yield
    finally:
        over.set()
        someone.join()


def take(
    browser: Browser, stack: Stack, key: dict[str, str], places: dict[str, str], *, dark: bool, to: Path
) -> None:
    """One picture of each view."""
    theme = "dark" if dark else "light"
    base = f"http://127.0.0.1:{stack.settings.port}"
    context = browser.new_context(base_url=base, viewport=_SIZE, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    sign_in(page, key)
    for name, (place, there) in _VIEWS.items():
        page.goto("/#" + place.format(**places))
        page.locator(there).first.wait_for()
        if name == "photo":
            page.wait_for_function(_WHOLE)
        page.wait_for_timeout(1500)
        path = to / f"{name}-{theme}.webp"
        path.write_bytes(small(page))
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")
    context.close()


def small(page: Page) -> bytes:
    """The page as WebP, as good as fits."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    for quality in (88, 80, 70, 60, 50, 40):
        file = io.BytesIO()
        picture.save(file, "WEBP", quality=quality, method=6)
        if file.tell() < _LARGEST_BYTES:
            return file.getvalue()
    raise ValueError(f"{page.url} is {file.tell()} bytes at the least")


@contextmanager
def _browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _settings(servers: Servers, folder: Path) -> Settings:
    """As in production, with what stands beside it."""
    return replace(
        production_settings(servers, folder),
        grafana_url="http://127.0.0.1:3000",
        prometheus_url="http://127.0.0.1:9090",
        revision="3f9c2ab",
    )


if __name__ == "__main__":
    main()
