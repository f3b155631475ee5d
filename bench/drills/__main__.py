"""Run the drills: `make drills`, or some by name: `make drills ARGS="kill-workers --json drills.json"`.

Exits 1 if a right alert didn't fire or didn't clear, or if anyone was paged for something else.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.drills.faults import DRILLS
from bench.drills.run import perform
from bench.drills.site import Site
from embedded.stopping import Stopped, stop_on_signals


def main() -> int:
    """Perform the drills that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("drills", nargs="*", metavar="DRILL", help=f"of {', '.join(DRILLS)}; none: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if unknown := set(arguments.drills) - set(DRILLS):
        parser.error(f"there is no drill {', '.join(sorted(unknown))}; there are {', '.join(DRILLS)}")
    names = arguments.drills or list(DRILLS)
    stop_on_signals()
    outcomes = []
    print("Starting the service, Prometheus and Alertmanager ...", flush=True)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="sl-") as folder,
            Site(Path(folder), bounded="fill-store" in names) as site,
        ):
            print(f"{'drill':15}{'alert':20}{'fires after':>12}{'clears after':>14}", flush=True)
            for name in names:
                outcomes += perform(site, name, DRILLS[name])
                for outcome in (each for each in outcomes if each.drill == name):
                    print(outcome, flush=True)
    except Stopped:
        print("Stopped.")
        return 1
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=2) + "\n")
    good = all(each.good for each in outcomes)
    print("Every right alert fired and cleared, and nobody was paged for nothing." if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
