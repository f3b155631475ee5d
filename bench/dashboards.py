"""Draw the dashboards for the docs: `make dashboard-pictures` (ARGS="--minutes 4").

A stack of its own works for some minutes under a load that rises and falls, with bad photos among the good
ones, a paused queue and a killed worker; a real Prometheus scrapes it. The panels' own queries are drawn.
"""

import argparse
import math
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from bench.drawing import draw
from bench.drawing_series import Span
from bench.task_stack import Servers
from config import Settings
from db.session import Database
from embedded import processes
from embedded.ports import any_free_port
from photos.kinds import KINDS
from tasks.queues import Queues
from tests.grafana import load
from tests.grafana.boards import BOARDS
from tests.prometheus import scraping
from tests.stack import Stack

PICTURES = Path(__file__).parent.parent / "docs" / "images" / "dashboards"
_PEAK_PER_S = 6.0
_SECOND = ("dramatiq", "actors", "--skip-logging", "--processes", "1", "--threads", "3")
_BAD_SHARE, _LOOK_SHARE = 0.06, 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=4, help="how long the load takes")
    arguments = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sl-") as name:
        folder = Path(name)
        with Servers(folder) as servers, Stack(production_settings(servers, folder), folder) as stack:
            stack.expected.append(".")  # a worker is killed
            stack.start("second", *_SECOND)
            with scraping(folder / "prometheus", stack.settings.monitoring_port) as prometheus:
                begun_s = time.time()
                work(stack, arguments.minutes * 60)
                span = Span(begun_s, time.time())
                for board_name, board in BOARDS.items():
                    path = PICTURES / f"{board_name}.png"
                    draw(board, prometheus, span, path)
                    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


def work(stack: Stack, duration_s: float) -> None:
    """Send photos at a rate that rises and falls; on the way pause the previews, and kill a worker."""
    key, dice = stack.key("dashboards"), random.Random(7)
    started_s, sent = time.monotonic(), 0
    with ThreadPoolExecutor(8) as people, closing(_database(stack)) as database:
        queues = Queues(database, KINDS)
        events: list[tuple[float, Callable[[], object]]] = [
            (0.35, lambda: queues.set_paused("preview", True)),
            (0.43, lambda: queues.set_paused("preview", False)),
            (0.65, lambda: people.submit(_kill_at_work, stack, "second")),
            (0.75, lambda: stack.start("second", *_SECOND)),
        ]
        while (passed := (time.monotonic() - started_s) / duration_s) < 1:
            if events and passed > events[0][0]:
                events.pop(0)[1]()
            people.submit(_one_person, stack, key, sent, dice.random())
            sent += 1
            rate_per_s = 0.5 + _PEAK_PER_S * math.sin(math.pi * 2 * passed) ** 2
            time.sleep(dice.expovariate(rate_per_s))
    print(f"{sent} people's visits")


def _one_person(stack: Stack, key: load.Key, number: int, luck: float) -> None:
    if luck < _BAD_SHARE:
        load.bad_photos(stack, key, seed=number)
        return
    (photo,) = load.good_photos(stack, key, 1, seed=number)
    if luck > 1 - _LOOK_SHARE:
        stack.ask("GET", f"/v1/photos/{photo['id']}", headers={**key, "Prefer": "wait=5"})
        load.look(stack, photo, key)


def _kill_at_work(stack: Stack, name: str) -> None:
    busy = "SELECT 1 FROM tasks WHERE state = 'processing' AND worker LIKE :name"
    (pid,) = stack.pids(name)
    processes.settles(lambda: bool(stack.query(busy, name=f"%:{pid}")), timeout_s=10)
    os.kill(pid, signal.SIGKILL)


def _database(stack: Stack) -> Database:
    return Database(stack.settings.database_url, pool_size=1, application_name="bench-dashboards")


def production_settings(servers: Servers, folder: Path) -> Settings:
    """As in production, but for the places."""
    database_url, redis_url = servers.urls
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        storage_url=(folder / "store").as_uri(),
        port=any_free_port(),
        monitoring_port=any_free_port(),
    )


if __name__ == "__main__":
    main()
