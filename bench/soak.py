"""Whether memory stays flat over many photos: `python -m bench.soak --count 5000 --picture FILE`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from matplotlib.figure import Figure

from bench import load, photos
from bench.accounting import Tree
from bench.load import LoadError
from bench.pipeline import KEPT
from bench.running import StartError, running
from embedded.errors import EmbeddedError
from embedded.stopping import Stopped, stop_on_signals

_SAMPLE_S = 1.0
_PARTS = ("api", "worker")
_MIB = 1 << 20


@contextmanager
def _sampled(trees: dict[str, Tree]) -> Iterator[list[dict[str, float]]]:
    """The memory of the parts (MiB, PSS) every second."""
    samples: list[dict[str, float]] = []
    done, begun_s = threading.Event(), time.monotonic()

    def sample() -> None:
        while not done.wait(_SAMPLE_S):
            sizes = {part: trees[part].pss_bytes() / _MIB for part in _PARTS}
            samples.append({"time_s": time.monotonic() - begun_s, **sizes})

    with ThreadPoolExecutor(1) as pool:
        sampler = pool.submit(sample)
        try:
            yield samples
        finally:
            done.set()
            sampler.result()


def growth(samples: list[dict[str, float]], part: str) -> float:
    """The median of the last fifth over that of the second: what is warm is compared with what is warm."""
    fifth = max(1, len(samples) // 5)
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]
    return statistics.median(at[part] for at in late) / statistics.median(at[part] for at in early)


def draw(samples: list[dict[str, float]], count: int, path: Path) -> None:
    """Write a plot of the samples, as PNG or SVG."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.add_subplot()
    minutes = [at["time_s"] / 60 for at in samples]
    for part in _PARTS:
        axes.plot(minutes, [at[part] for at in samples], label=part)
    axes.set(ylim=(0, None), xlabel=f"minutes ({count:,} photos)", ylabel="MiB (PSS)")
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    """0: all photos came out right; 1: something failed, and it says what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5_000, help="photos")
    parser.add_argument("--clients", type=int, default=8, help="who upload at the same time")
    parser.add_argument("--limit-s", type=float, default=3_600, help="a run that takes longer has failed")
    parser.add_argument("--picture", type=Path, help="draw it into this file")
    parser.add_argument("--json", type=Path, help="also write the samples to this file")
    arguments = parser.parse_args()
    stop_on_signals()
    files = photos.photos(photos.MIXED, KEPT)
    try:
        with running("safelight", slots=2) as run, _sampled(run.trees) as samples:
            load.at_once(
                run.service.port,
                run.service.headers,
                files,
                count=arguments.count,
                clients=arguments.clients,
                limit_s=arguments.limit_s,
            )
    except (StartError, LoadError, EmbeddedError) as error:
        print(error, file=sys.stderr)
        return 1
    except Stopped:
        return 1
    for part in _PARTS:
        last = statistics.median(at[part] for at in samples[-5:])
        print(f"{part}: {last:.0f} MiB at the end, {growth(samples, part):.3f} of what it was early on")
    if arguments.picture:
        draw(samples, arguments.count, arguments.picture)
    if arguments.json:
        arguments.json.write_text(json.dumps(samples) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
