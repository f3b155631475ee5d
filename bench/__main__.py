"""Runs every benchmark, or some: `make bench` (ARGS="--only pipeline idle --json FILE").

Each prints its table; with --json all of it is kept in one document. What the figures mean:
docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import PIL
import psutil

from embedded import processes
from embedded.stopping import Stopped, stop_on_signals

_END_S = 60
_QUICK = {
    "imaging": ["--rounds", "1"],
    "pipeline": ["--count", "12", "--rounds", "1"],
    "idle": ["--count", "6", "--rounds", "1"],
    "small": ["--count", "100", "--rounds", "1"],
    "backlog": ["--count", "12", "--rounds", "1"],
    "tasks": ["--tasks", "2000", "--only", "submit", "relay", "statements", "no-ops", "metrics"],
}


def parts(peer: str) -> dict[str, list[str]]:
    """The modules and their arguments, in their order."""
    who = ["run", "safelight"] if peer == "none" else ["compare", peer, "safelight"]
    return {
        "imaging": ["bench.imaging"],
        "pipeline": ["bench.pipeline", *who],
        "idle": ["bench.pipeline", *who, "--idle"],
        "small": ["bench.pipeline", *who, "--small"],
        "backlog": ["bench.backlog"],
        "tasks": ["bench.tasks"],
    }


def run(arguments: list[str], limit_s: float) -> Any:
    """Run one part as a process of its own; what it wrote as JSON, or how it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        command = [*processes.tied("TERM"), sys.executable, "-m", *arguments, "--json", str(path)]
        process = subprocess.Popen(command)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return {"failed": f"it took more than {limit_s:.0f} s"}
        finally:
            processes.end([process.pid], processes.TERM, grace_s=_END_S)
            process.wait()
        return {"failed": f"it ended with {status}"} if status else json.loads(path.read_text())


def machine() -> dict[str, Any]:
    """What it was measured on, and how busy that was."""
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "revision": revision.stdout.strip() or "unknown",
        "platform": platform.platform(),
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "resizer": "simd" if find_spec("cykooz_resizer") else "pillow",
        "processors": os.cpu_count(),
        "memory_mib": psutil.virtual_memory().total >> 20,
        "load_average": os.getloadavg(),
    }


def main() -> int:
    """0: all parts ran; 1: one failed."""
    names = list(parts("none"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--peer", choices=("node", "celery", "none"), default="node", help="beside whom")
    parser.add_argument("--quick", action="store_true", help="a minute or two, to see that all of it works")
    parser.add_argument("--limit-s", type=float, default=3600, help="a part that takes longer has failed")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    stop_on_signals()
    document: dict[str, Any] = {"machine": machine()}
    print(json.dumps(document["machine"]))
    try:
        for name in arguments.only:
            print(f"\n{name}", flush=True)
            more = _QUICK[name] if arguments.quick else []
            document[name] = run([*parts(arguments.peer)[name], *more], arguments.limit_s)
    except Stopped:
        return 1
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    failed = [name for name in arguments.only if "failed" in document[name]]
    print(*(f"{name} failed: {document[name]['failed']}" for name in failed), sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
