"""Many clients at once, what they met, and what the stack has in use meanwhile."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tests.stack import Stack

Item = TypeVar("Item")
Result = TypeVar("Result")


def by_clients(
    clients: int, items: Sequence[Item], action: Callable[[Item], Result]
) -> list[tuple[Result, float]]:
    """Each item done once, by so many threads: its result, and the seconds that it took."""
    waiting: Iterator[Item] = iter(items)
    lock = threading.Lock()
    done: list[tuple[Result, float]] = []

    def client() -> None:
        while True:
            with lock:
                item = next(waiting, None)
            if item is None:
                return
            begun_s = time.monotonic()
            result = action(item)
            done.append((result, time.monotonic() - begun_s))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all are not above."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def resident_bytes(stack: Stack) -> int:
    """What the API's processes have in memory now."""
    pages = (int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in stack.pids("api"))
    return sum(pages) * 4096


def peak_bytes(stack: Stack) -> int:
    """The most memory that the API's processes have ever had together."""
    status = [Path(f"/proc/{pid}/status").read_text() for pid in stack.pids("api")]
    return sum(int(re.findall(r"VmHWM:\s+(\d+) kB", text)[0]) * 1024 for text in status)


def files(stack: Stack) -> set[str]:
    """Every file in the stack's store."""
    folder = Path(stack.settings.storage_url.removeprefix("file://"))
    return {str(path) for path in folder.rglob("*") if path.is_file()}


def connections_in_use(stack: Stack) -> int:
    """How many of the API's connections to the database are in the middle of something."""
    [row] = stack.query(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'safelight-api'"
        " AND datname = current_database() AND state <> 'idle'"
    )
    return int(row.n)
