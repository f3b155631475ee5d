"""Files as people drop them on the page, and what should become of each."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from tests.imaging.pictures import cr3, raf, raw_tiff
from tests.pictures import heic, huge_png, jpeg, png

_DROP = """
async (files) => {
  const data = new DataTransfer();
  for (const {name, base64} of files) {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    data.items.add(new File([bytes], name));
  }
  for (const type of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
  }
}
"""


@dataclass(frozen=True)
class Dropped:
    """A file, and how it ends: `ready`, `failed` or `refused`."""

    path: Path
    ends: str


def mixed_files(folder: Path) -> list[Dropped]:
    """Twenty files of every kind, good and bad."""
    good = {
        "raw.nef": raw_tiff(jpeg(1200, 800, seed=610)),
        "raw.raf": raf(jpeg(1200, 800, seed=611)),
        "raw.cr3": cr3(jpeg(1200, 800, seed=612)),
        "lying-name.txt": jpeg(seed=613),
        "no-end": jpeg(seed=614),
        "fin de journée – 夕方.jpg": jpeg(seed=615),
        **{f"phone-{n}.heic": heic(seed=620 + n) for n in range(3)},
        **{f"picture-{n}.jpg": jpeg(1600, 1200, seed=630 + n) for n in range(4)},
        **{f"drawing-{n}.png": png(seed=640 + n) for n in range(2)},
    }
    failing = {"cut.jpg": jpeg(2000, 1500, seed=650)[:600], "bomb.png": huge_png()}
    refused = {
        "notes.txt": b"Dear diary,\n" * 99,
        "page.html": b"<!doctype html><p>",
        "zeros.jpg": bytes(4000),
    }
    made = [
        *((name, data, "ready") for name, data in good.items()),
        *((name, data, "failed") for name, data in failing.items()),
        *((name, data, "refused") for name, data in refused.items()),
    ]
    for name, data, _ in made:
        (folder / name).write_bytes(data)
    return [Dropped(folder / name, ends) for name, _, ends in made]


def drop(page: Page, paths: list[Path]) -> None:
    """Drop files on the page."""
    files = [{"name": path.name, "base64": base64.b64encode(path.read_bytes()).decode()} for path in paths]
    page.evaluate(_DROP, files)
