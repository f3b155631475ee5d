"""Start workers: `python worker.py` is `dramatiq actors`, with Dramatiq's own lines like all others.

Its arguments are those of the `dramatiq` command, such as `--processes 1 --threads 2`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dramatiq.cli import main, make_argument_parser

from config import Settings
from observability import logs


def run() -> int:
    """Run until a signal ends it; returns the exit status."""
    logs.configure(Settings.for_root().log_format)  # first, so that Dramatiq leaves logging as it is
    arguments = make_argument_parser().parse_args(["actors", *sys.argv[1:]])  # type: ignore[no-untyped-call]
    # After a SIGHUP Dramatiq starts itself again by what stands here.
    sys.argv[:1] = [sys.executable, str(Path(__file__).resolve())]
    return int(main(arguments))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    sys.exit(run())
