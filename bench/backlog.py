"""How fast a backlog is worked off with one decode slot and with two: `python -m bench.backlog`.

Photos are uploaded while there is no worker; then one starts. What counts is from the first photo ready to
the last: the start is left out. One slot and two take turns.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench import load, photos
from bench.load import LoadError
from bench.pipeline import KEPT
from bench.running import StartError, running
from bench.summary import medians, ratios, turns
from embedded.errors import EmbeddedError
from embedded.stopping import Stopped, stop_on_signals

_SLOTS = (1, 2)


def measure(slots: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Photos a second with so many slots.

    Raises:
        StartError, LoadError
    """
    files = photos.photos(photos.MIXED, KEPT)
    with running("safelight", slots=slots, parts=["api"]) as run:
        at = (run.service.port, run.service.headers)
        visits = load.left_waiting(*at, files, count=arguments.count)
        with run.started("worker"):
            return {"photos_per_s": load.drained(*at, visits, limit_s=arguments.limit_s)}


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
                print(f"{slots} slots: {measured[slots][-1]['photos_per_s']:.2f} photos/s", file=sys.stderr)
    except (StartError, LoadError, EmbeddedError) as error:
        print(error, file=sys.stderr)
        return 1
    except Stopped:
        return 1
    one, two = (medians(measured[slots])["photos_per_s"] for slots in _SLOTS)
    ratio = ratios(measured[1], measured[2])["photos_per_s"]
    print(f"photos/s: one slot {one:.2f}, two slots {two:.2f}, ratio {ratio:.2f}")
    if arguments.json:
        document = {"rounds": {str(slots): runs for slots, runs in measured.items()}, "ratio": ratio}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
