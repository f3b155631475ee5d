"""The whole service under load, beside what people would run otherwise: `python -m bench.pipeline`.

    python -m bench.pipeline run safelight
    python -m bench.pipeline compare node safelight --rounds 3     # A B, B A, A B; medians, and ratios B / A
    python -m bench.pipeline compare node safelight --idle         # one photo of 2 megapixels at a time
    python -m bench.pipeline compare node safelight --small        # many of 50 KB

Each run has a PostgreSQL and a Valkey of its own with production's settings, and begins with a warm-up.
docs/performance.md says what each figure means.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import load, photos
from bench.accounting import Clocks, watched
from bench.load import LoadError, Visit
from bench.peers.install import InstallError
from bench.photos import Photo
from bench.running import Running, StartError, running
from bench.services import SERVICES
from bench.summary import medians, percentile, ratios, turns
from embedded.errors import EmbeddedError
from embedded.stopping import Stopped, stop_on_signals

KEPT = Path(__file__).parent.parent / "build" / "bench" / "photos"
_MIB = 1 << 20


@dataclass(frozen=True)
class Load:
    """What is uploaded, and how.

    Args:
        count: how many unless one says otherwise.
        is_idle: one at a time, with pauses.
    """

    kinds: tuple[str, ...]
    count: int
    is_idle: bool = False


LOADS = {
    "mixed": Load(photos.MIXED, 200),
    "small": Load(photos.SMALL, 2_000),
    "idle": Load(photos.TWO_MEGAPIXELS, 60, is_idle=True),
}


def measure(name: str, asked: Load, arguments: argparse.Namespace) -> dict[str, float]:
    """Start a service, warm it, drive it, end it; its figures.

    Raises:
        StartError, LoadError, InstallError
    """
    files, count = photos.photos(asked.kinds, KEPT), arguments.count or asked.count
    with running(name, slots=arguments.slots) as run:
        _drive(run, files, arguments.warm_up, arguments)
        before = Clocks.of(run.trees)
        with watched(run.own) as peak:
            visits = _drive(run, files, count, arguments, one_by_one=asked.is_idle)
        spent = Clocks.of(run.trees).since(before, photos=count)
        return {
            **(_of_idle(visits) if asked.is_idle else _of_load(visits)),
            "cpu_ms": spent["cpu_api_ms"] + spent["cpu_worker_ms"],
            **spent,
            "pss_peak_mib": peak.pss_bytes / _MIB,
            **{f"pss_{part}_mib": run.trees[part].pss_bytes() / _MIB for part in ("postgres", "redis")},
        }


def _drive(
    run: Running,
    files: list[Photo],
    count: int,
    arguments: argparse.Namespace,
    *,
    one_by_one: bool = False,
) -> list[Visit]:
    at, limit_s = (run.service.port, run.service.headers), arguments.limit_s
    if one_by_one:
        return load.one_by_one(*at, files, count=count, limit_s=limit_s)
    return load.at_once(*at, files, count=count, clients=arguments.clients, limit_s=limit_s)


def _of_load(visits: list[Visit]) -> dict[str, float]:
    uploads_ms = [(visit.answered_s - visit.begun_s) * 1000 for visit in visits]
    ready_s = [visit.ready_s - visit.begun_s for visit in visits]
    whole_s = max(visit.ready_s for visit in visits) - min(visit.begun_s for visit in visits)
    return {
        "photos_per_s": len(visits) / whole_s,
        "upload_p50_ms": percentile(uploads_ms, 50),
        "upload_p95_ms": percentile(uploads_ms, 95),
        "ready_p50_s": percentile(ready_s, 50),
        "ready_p95_s": percentile(ready_s, 95),
    }


def _of_idle(visits: list[Visit]) -> dict[str, float]:
    figures = {}
    for name, times_s in {
        "upload": [visit.answered_s - visit.begun_s for visit in visits],
        "answered_to_ready": [visit.ready_s - visit.answered_s for visit in visits],
        "answered_to_seen": [visit.seen_s - visit.answered_s for visit in visits],
    }.items():
        for percent in (50, 95):
            figures[f"{name}_p{percent}_ms"] = percentile(times_s, percent) * 1000
    return figures


def rounds(names: list[str], asked: Load, arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Measure each in turn, as often as asked."""
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number, order in enumerate(turns(names, arguments.rounds), start=1):
        for name in order:
            figures = measure(name, asked, arguments)
            measured[name].append(figures)
            print(f"round {number}, {name}: {_line(figures)}", file=sys.stderr, flush=True)
    return measured


def _line(figures: dict[str, float]) -> str:
    first, others = next(iter(figures)), figures["others_cpu_percent"]
    return f"{first} {figures[first]:.2f}, cpu_ms {figures['cpu_ms']:.1f}, others' CPU {others:.0f} %"


def report(measured: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Print medians, and with two services their ratio; all of it, to be kept."""
    middle = {name: medians(runs) for name, runs in measured.items()}
    names = list(measured)
    ratio = ratios(measured[names[0]], measured[names[1]]) if len(names) == 2 else {}
    title = f"{names[1]}/{names[0]}" if ratio else ""
    print(f"{'':24}" + "".join(f"{name:>12}" for name in names) + (f"{title:>18}" if title else ""))
    for figure in middle[names[0]]:
        cells = "".join(f"{middle[name][figure]:12.2f}" for name in names)
        print(f"{figure:24}{cells}" + (f"{ratio[figure]:18.2f}" if figure in ratio else ""))
    return {"medians": middle, "ratios": {title: ratio} if ratio else {}, "rounds": measured}


def main() -> int:
    """0: all photos came out right; 1: something failed, and it says what."""
    arguments = _arguments()
    stop_on_signals()
    load_before = os.getloadavg()
    try:
        measured = rounds(arguments.services, LOADS[arguments.load], arguments)
    except (StartError, LoadError, InstallError, EmbeddedError) as error:
        print(error, file=sys.stderr)
        return 1
    except Stopped:
        return 1
    document = {
        "load": arguments.load,
        "clients": arguments.clients,
        "slots": arguments.slots,
        "load_average_before": load_before,
    }
    document |= report(measured)
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("run", "compare"))
    parser.add_argument("services", nargs="+", choices=SERVICES, metavar="SERVICE", help=", ".join(SERVICES))
    parser.add_argument("--idle", dest="load", action="store_const", const="idle", default="mixed")
    parser.add_argument("--small", dest="load", action="store_const", const="small")
    parser.add_argument("--count", type=int, help="photos in a run (200; --idle 60; --small 2000)")
    parser.add_argument("--clients", type=int, default=8, help="who upload at the same time")
    parser.add_argument("--slots", type=int, default=2, help="photos that a service decodes at the same time")
    parser.add_argument("--rounds", type=int, help="1 for run, 3 for compare")
    parser.add_argument("--warm-up", type=int, default=24, help="photos before it counts")
    parser.add_argument("--limit-s", type=float, default=600, help="a run that takes longer has failed")
    parser.add_argument("--json", type=Path, help="also write every round's figures to this file")
    arguments = parser.parse_args()
    if len(arguments.services) != {"run": 1, "compare": 2}[arguments.mode]:
        parser.error("run takes one service, compare two")
    arguments.rounds = arguments.rounds or {"run": 1, "compare": 3}[arguments.mode]
    return arguments


if __name__ == "__main__":
    sys.exit(main())
