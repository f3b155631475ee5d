"""`flask import` and `safelight import`: a folder of photos into the service."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from client.folder import Found
    from client.importing import Summary

_INTERRUPTED = 130
_PLACE = click.Path(exists=True, path_type=Path)
_KEY_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("places", metavar="DIR...", nargs=-1, required=True, type=_PLACE)
@click.option(
    "--url",
    envvar="SAFELIGHT_URL",
    default=lambda: f"http://127.0.0.1:{os.environ.get('SAFELIGHT_PORT', 8000)}",
    show_default="this machine, port SAFELIGHT_PORT or 8000",
)
@click.option(
    "--key-file",
    type=_KEY_FILE,
    help="With the API key, such as var/admin.key; else SAFELIGHT_KEY.",
)
@click.option("--connections", type=click.IntRange(1, 64), default=4, show_default=True)
@click.option("--analysis", is_flag=True, help="Have the photos analysed as well.")
@click.option("--wait", "until_ready", is_flag=True, help="Wait for each photo until it is ready.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and no progress.")
def command(
    places: tuple[Path, ...],
    url: str,
    key_file: Path | None,
    connections: int,
    analysis: bool,
    until_ready: bool,
    as_json: bool,
) -> None:
    """Upload all files of DIR, and below it; what is there already isn't sent.

    After Ctrl-C run it again: it goes on. Exit 1 if a file failed, 130 if it was interrupted. A refused file
    (no photo, too large) is told, and is no failure.
    """
    # The API has this command as well, and needs no client: 5 MB with requests and tqdm.
    from client.folder import Found, Unreadable, walk
    from client.importing import Import
    from client.service import Failed, NotAllowed, Refused, Service

    begun_s = time.monotonic()
    stopped = threading.Event()
    service = Service(url, _key(key_file), stopped)
    try:
        service.check()
        found = list(walk(places))
        files = [each for each in found if isinstance(each, Found)]
        with _progress(files, shown=not as_json) as bar, _stopped_by_signals(stopped):
            run = Import(
                service,
                stopped,
                connections=connections,
                analysis=analysis,
                until_ready=until_ready,
                each=bar.update,
                ended=lambda summary: bar.set_postfix_str(_counts(summary), refresh=False),
            )
            run.summary.failed |= {each.path: each.reason for each in found if isinstance(each, Unreadable)}
            summary = run.run(files)
    except NotAllowed as error:
        raise click.ClickException(f"the key can't be used: {error}") from error
    except (Failed, Refused) as error:
        raise click.ClickException(f"{url}: {error}") from error
    _tell(summary, len(found), time.monotonic() - begun_s, as_json=as_json)
    if summary.not_allowed:
        raise click.ClickException(f"the key can't be used any more: {summary.not_allowed}")
    if summary.interrupted or summary.failed:
        raise SystemExit(_INTERRUPTED if summary.interrupted else 1)


def _key(key_file: Path | None) -> str:
    text = key_file.read_text() if key_file else os.environ.get("SAFELIGHT_KEY", "")
    if not text.strip():
        raise click.UsageError("give a key: --key-file FILE (such as var/admin.key), or SAFELIGHT_KEY")
    return text.strip()


@contextmanager
def _progress(files: list[Found], *, shown: bool) -> Iterator[Any]:
    from tqdm import tqdm

    total = sum(file.size_bytes for file in files)
    with tqdm(
        total=total, unit="B", unit_scale=True, unit_divisor=1024, disable=None if shown else True
    ) as bar:
        yield bar


@contextmanager
def _stopped_by_signals(stopped: threading.Event) -> Iterator[None]:
    """The first Ctrl-C has what was begun end, the second ends it at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        if stopped.is_set():
            click.echo("\nEnded. Run it again to go on.", err=True)
            os._exit(_INTERRUPTED)  # else it would wait for what hangs
        stopped.set()
        click.echo("\nStopping: what was begun is ended. Ctrl-C again ends at once.", err=True)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _counts(summary: Summary) -> str:
    counts = f"{summary.done} done, {summary.duplicates} there"
    bad = len(summary.refused) + len(summary.failed)
    return f"{counts}, {bad} not" if bad else counts


def _tell(summary: Summary, found: int, duration_s: float, *, as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "done": summary.done,
                    "duplicates": summary.duplicates,
                    "refused": [{"file": str(path), "reason": why} for path, why in summary.refused.items()],
                    "failed": [{"file": str(path), "reason": why} for path, why in summary.failed.items()],
                    "interrupted": summary.interrupted,
                    "files": found,
                    "sent_bytes": summary.sent_bytes,
                    "duration_s": round(duration_s, 3),
                }
            )
        )
        return
    for word, reasons in (("refused", summary.refused), ("failed", summary.failed)):
        for path, why in sorted(reasons.items()):
            click.echo(f"{word}  {path}: {why}", err=True)
    mib = summary.sent_bytes / 2**20
    click.echo(
        f"{found} files: {summary.done} done ({mib:.1f} MiB in {duration_s:.1f} s), "
        f"{summary.duplicates} there already, {len(summary.refused)} refused, {len(summary.failed)} failed"
    )
    if summary.interrupted:
        click.echo("Interrupted: run it again to go on.")
