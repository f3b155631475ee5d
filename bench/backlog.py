"""How fast a backlog is worked off with one decode slot and with two: `python -m bench.backlog`.

Photos are uploaded while there is no worker; then one starts. What counts is from the first photo ready to
the last: the start is left out. One slot and two take turns.

And the same photos by as many decoders alone, with nothing beside them: what the machine can give.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import load, photos
from bench.load import LoadError
from bench.pipeline import KEPT
from bench.running import StartError, running
from bench.summary import Figures, medians, ratios, turns
from config import Settings
from embedded.errors import EmbeddedError
from embedded.stopping import Stopped, stop_on_signals
from imaging import jobs
from imaging.errors import ImagingError
from imaging.sandbox import Sandbox

_SLOTS = (1, 2)


def measure(slots: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Photos a second with so many slots, and by so many decoders alone.

    Raises:
        StartError, LoadError
        imaging.errors.ImagingError: see `decoded_alone`.
    """
    files = photos.photos(photos.MIXED, KEPT)
    alone_per_s = decoded_alone(slots, files, arguments.count)
    with running("safelight", slots=slots, parts=["api"]) as run:
        at = (run.service.port, run.service.headers)
        visits = load.left_waiting(*at, files, count=arguments.count)
        with run.started("worker"):
            drained_per_s = load.drained(*at, visits, limit_s=arguments.limit_s)
    return {"photos_per_s": drained_per_s, "alone_per_s": alone_per_s}


def decoded_alone(decoders: int, files: Sequence[photos.Photo], count: int) -> float:
    """Photos a second of which so many decoders make previews and metadata; counted as `load.drained` does.

    Raises:
        imaging.errors.ImagingError: a decoder died, or hung.
    """
    sandbox = Sandbox(decoders, Settings.decoder_memory_bytes)

    def render(path: Path) -> float:
        sandbox.call(jobs.render, path, max_pixels=Settings.max_pixels, with_metadata=True, time_limit_s=60)
        return time.monotonic()

    with TemporaryDirectory() as folder, closing(sandbox), ThreadPoolExecutor(decoders) as pool:
        paths = [Path(folder, file.name) for file in files]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file.data)
        list(pool.map(render, paths))  # which starts the decoders
        done_s = sorted(pool.map(render, [paths[number % len(paths)] for number in range(count)]))
    return (len(done_s) - 1) / (done_s[-1] - done_s[0])


def _told(figures: Figures) -> str:
    return f"{figures['photos_per_s']:.2f}, decoders alone {figures['alone_per_s']:.2f}"


def main() -> int:
    """0: all photos came out right; 1: something failed, and it says what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="photos in a run, 2 at least")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=600, help="a run that takes longer has failed")
    parser.add_argument("--json", type=Path, help="also write every round's figures to this file")
    arguments = parser.parse_args()
    stop_on_signals()
    measured: dict[int, list[dict[str, float]]] = {slots: [] for slots in _SLOTS}
    try:
        for order in turns(_SLOTS, arguments.rounds):
            for slots in order:
                measured[slots].append(measure(slots, arguments))
                print(f"photos/s, {slots} slots: {_told(measured[slots][-1])}", file=sys.stderr)
    except (StartError, LoadError, EmbeddedError, ImagingError) as error:
        print(error, file=sys.stderr)
        return 1
    except Stopped:
        return 1
    ratio = ratios(measured[1], measured[2])
    for slots in _SLOTS:
        print(f"photos/s, {slots} slots: {_told(medians(measured[slots]))}")
    print(f"two beside one: {_told(ratio)}")
    if arguments.json:
        document = {"rounds": {str(slots): runs for slots, runs in measured.items()}, "ratio": ratio}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
