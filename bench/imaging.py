"""How right and how fast `imaging/` is: `make bench-imaging` (ARGS="--json FILE" to keep the figures).

Right, wrong and missing are counted against the sample pictures' manifest. Times and memory are of generated
pictures of 12 megapixels, each kind in a fresh child process of the sandbox, tuned as the workers' are.
"""

import argparse
import importlib
import io
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pillow_heif
from PIL import Image, ImageFilter

from imaging.errors import ImagingError
from imaging.preview import render
from imaging.results import Rendering
from imaging.sandbox import Sandbox
from tests.imaging.corpus import CORPUS, MAX_PIXELS, Entry, entries, exif_checks, preview_checks
from tests.imaging.pictures import cr3, encoded, raf, raw_tiff

MEMORY_BYTES = 4 << 30
JOBS_PER_PROCESS = 500  # the sandbox's default
SIZE = (4000, 3000)
MEGAPIXELS = SIZE[0] * SIZE[1] / 1e6
Row = dict[str, str | int | float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is timed")
    arguments = parser.parse_args()
    figures = {
        "right": correctness(),
        "speed": speed(arguments.rounds),
        "sandbox": sandbox_cost(arguments.rounds),
    }
    for title, rows in figures.items():
        table(title, rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def correctness() -> list[Row]:
    """Count right, wrong and missing values by kind of file."""
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for entry in entries():
        for part, checks in (("previews", preview_checks), ("metadata", exif_checks)):
            count = counts.setdefault(f"{kind_of(entry)}, {part}", Counter(files=0))
            count["files"] += 1
            for check in checks(entry):
                count[check.verdict] += 1
                if check.verdict != "right":
                    wrong.append(f"{entry['file']}: {check}")
    if not counts:
        say(f"no sample pictures at {CORPUS}")
    for line in wrong:
        say(line)
    names = ("files", "right", "wrong", "missing")
    return [{"kind": kind, **{name: counts[kind][name] for name in names}} for kind in sorted(counts)]


def kind_of(entry: Entry) -> str:
    if entry["expect"] == "refuse":
        return "to refuse"
    kind: str = entry["media_type"].removeprefix("image/").removeprefix("x-")
    return f"{kind}, turned" if "turn" in entry["why"].lower() or "Orientation" in entry["why"] else kind


def speed(rounds: int) -> list[Row]:
    """Time each kind, and see how much memory it takes at its peak."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photo"
        for kind, make in KINDS.items():
            path.write_bytes(make(photo()))
            sandbox = Sandbox(1, MEMORY_BYTES)
            before = sandbox.call(peak_mib, time_limit_s=60)
            try:
                times_ms = sandbox.call(repeated, path, rounds, time_limit_s=600)
                peak = sandbox.call(peak_mib, time_limit_s=60)
            except ImagingError as error:
                say(f"{kind}: {error!r}")
                continue
            finally:
                sandbox.close()
            middle = statistics.median(times_ms)
            rows.append(
                {
                    "kind": kind,
                    "cpu_ms": round(middle),
                    "cpu_ms_per_megapixel": round(middle / MEGAPIXELS, 1),
                    "peak_mib": peak,
                    "peak_over_idle_mib": peak - before,
                }
            )
    return rows


def sandbox_cost(rounds: int) -> list[Row]:
    """Take what a child needs for a photo from what its caller waited: the rest is the sandbox's.

    Both are of the same call, and so of the same process with the same malloc. The start of a process, which
    every 500th photo pays for, is added in its part.
    """
    direct, extra = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photo"
        path.write_bytes(KINDS["JPEG"](photo()))
        started = time.perf_counter()
        sandbox = Sandbox(1, MEMORY_BYTES)
        sandbox.call(peak_mib, time_limit_s=60)
        start_ms = (time.perf_counter() - started) * 1000
        for _ in range(10 * rounds):
            started = time.perf_counter()
            inside_ms, _ = sandbox.call(timed, path, time_limit_s=60)
            direct.append(inside_ms)
            extra.append((time.perf_counter() - started) * 1000 - inside_ms)
        sandbox.close()
    cost_ms = statistics.median(extra) + start_ms / JOBS_PER_PROCESS
    return [
        {
            "picture": f"JPEG, {MEGAPIXELS:.0f} megapixels",
            "direct_ms": round(statistics.median(direct), 1),
            "sandbox_adds_ms": round(cost_ms, 2),
            "process_start_ms": round(start_ms),
            "cost_percent": round(100 * cost_ms / statistics.median(direct), 2),
        }
    ]


def timed(path: Path) -> tuple[float, Rendering]:
    """Render a photo; what it took in ms, and what came of it, which has to travel as it does in a worker."""
    started = time.perf_counter()
    rendering = render(path, max_pixels=MAX_PIXELS)
    return (time.perf_counter() - started) * 1000, rendering


def repeated(path: Path, times: int) -> list[float]:
    """Render one photo some times; in ms of CPU each, as the machine may have other things to do."""
    took = []
    for _ in range(times):
        started = time.process_time()
        render(path, max_pixels=MAX_PIXELS)
        took.append((time.process_time() - started) * 1000)
    return took


def peak_mib() -> int:
    """Say how much memory this process has held at most; exec resets this, but not getrusage's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def photo() -> Image.Image:
    """A picture with as much detail as a photo has, so that it is coded about as well."""
    width, height = SIZE
    grain = Image.effect_noise((width // 4, height // 4), 60).resize(SIZE, Image.Resampling.BICUBIC)
    bands = [
        Image.blend(Image.linear_gradient("L").rotate(90 * turn).resize(SIZE), grain, 0.3)
        for turn in range(3)
    ]
    return Image.merge("RGB", bands).filter(ImageFilter.GaussianBlur(1))


def heic(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    pillow_heif.from_pillow(picture).save(out, quality=80)
    return out.getvalue()


def jpeg(picture: Image.Image) -> bytes:
    return encoded(picture, "JPEG", quality=90)


KINDS: dict[str, Callable[[Image.Image], bytes]] = {
    "JPEG": jpeg,
    "JPEG, progressive": lambda picture: encoded(picture, "JPEG", quality=90, progressive=True),
    "JPEG, CMYK": lambda picture: encoded(picture.convert("CMYK"), "JPEG", quality=90),
    "PNG": lambda picture: encoded(picture, "PNG", compress_level=1),
    "PNG, alpha": lambda picture: encoded(picture.convert("RGBA"), "PNG", compress_level=1),
    "GIF": lambda picture: encoded(picture, "GIF"),
    "WebP": lambda picture: encoded(picture, "WEBP", method=0),
    "TIFF": lambda picture: encoded(picture, "TIFF"),
    "BMP": lambda picture: encoded(picture, "BMP"),
    "HEIC": heic,
    "AVIF": lambda picture: encoded(picture, "AVIF", speed=10),
    "NEF": lambda picture: raw_tiff(jpeg(picture)),
    "CR3": lambda picture: cr3(jpeg(picture)),
    "RAF": lambda picture: raf(jpeg(picture)),
}


def table(title: str, rows: list[Row]) -> None:
    if not rows:
        return
    names = list(rows[0])
    lines: list[Row] = [{name: name for name in names}, *rows]
    widths = [max(len(str(line[name])) for line in lines) for name in names]
    say(f"\n{title}")
    for line in lines:
        cells = zip(names, widths, strict=True)
        say("  ".join(str(line[name]).ljust(width) for name, width in cells).rstrip())


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    # by its real name, under which the sandbox's children find the functions here
    importlib.import_module("bench.imaging").main()
