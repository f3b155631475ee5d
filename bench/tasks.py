"""`make bench-tasks`: what the durable task layer does a second, and how soon it mends what broke.

    python -m bench.tasks [--json FILE] [--tasks N]

On servers of its own, with production's fsync settings. No-op tasks run beside bare Dramatiq with its own
Redis broker in the same run, in turn, and the ratio of medians is what counts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from bench.drain import cost_of_metrics, no_ops
from bench.figures import cost_of_a_scrape
from bench.rows import cost_of_rows
from bench.task_stack import Bench, Servers
from bench.task_worker import NOOP, layer
from embedded import processes
from tasks import states
from tasks.records import Wanted

_CLAIMERS = 16
_EMPTY_THE_WINDOW = """
UPDATE tasks SET state = 'completed', queued_at = NULL, finished_at = now() WHERE state = 'queued'
"""


def bulk_submit(bench: Bench) -> dict[str, float]:
    """100,000 tasks in batches of 10,000."""
    bench.clear()
    begun_s = time.monotonic()
    bench.submit(100_000)
    return {"bulk_submit_per_s": 100_000 / (time.monotonic() - begun_s)}


def relay_round(bench: Bench) -> dict[str, float]:
    """A round of the relay with 100,000 tasks pending and the window full."""
    bench.layer.relay.round()
    times_s = []
    for _ in range(5):
        begun_s = time.monotonic()
        bench.layer.relay.round()
        times_s.append(time.monotonic() - begun_s)
    messages = bench.client.llen(f"dramatiq:{NOOP.name}")
    return {
        "relay_round_at_100000_ms": statistics.median(times_s) * 1000,
        "messages_in_redis": float(messages),
    }


def publishes(bench: Bench, count: int) -> dict[str, float]:
    """The relay alone, a window a round: from `pending` to `queued`, and into Redis."""
    bench.clear()
    bench.submit(count)
    spent_s = 0.0
    while bench.scalar("SELECT EXISTS (SELECT FROM tasks WHERE state = 'pending')"):
        begun_s = time.monotonic()
        bench.layer.relay.round()
        spent_s += time.monotonic() - begun_s
        with bench.database.transaction() as tx:
            tx.execute(_EMPTY_THE_WINDOW)
    return {"publishes_per_s": count / spent_s}


def _claim_all(urls: tuple[str, str], ids: list[UUID], name: str) -> list[tuple[str, int]]:
    """Try to claim every task; what was got."""
    mine = layer(*urls, name=name)
    got = []
    for task_id in ids:
        wanted = [Wanted(task_id, None, NOOP.time_limit_s)]
        with mine.database.statement() as tx:
            claimed = states.claim(tx, wanted, worker=name, lease_s=600).get(task_id)
        if claimed:
            got.append((str(claimed.id), claimed.token))
    return got


def claims(bench: Bench, count: int) -> dict[str, float]:
    """16 processes claim `count` tasks, each of which two of them try for."""
    bench.clear()
    ids = bench.queue(count)
    begun_s = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(_CLAIMERS) as pool:
        jobs = [
            pool.apply_async(_claim_all, (bench.urls, ids[i // 2 :: _CLAIMERS // 2], f"c{i}"))
            for i in range(_CLAIMERS)
        ]
        got = [claim for job in jobs for claim in job.get()]
    return {
        "claims_per_s": len(got) / (time.monotonic() - begun_s),
        "claim_tries": float(2 * count),
        "double_claims": float(len(got) - len(set(got)) + (len(got) != count)),
    }


def round_trips(bench: Bench) -> dict[str, float]:
    """Round trips to PostgreSQL for one no-op task, claim to finish; the connection knows the statements."""
    bench.clear()
    seen: list[str] = []
    bench.layer.count_statements(seen)
    for task_id in bench.queue(2):
        seen.clear()
        with bench.layer.work.claimed(NOOP.name, str(task_id)) as claim:
            claim.complete(lambda tx: None)
    return {"round_trips_per_task": float(len(seen))}


def recovery(bench: Bench) -> dict[str, float]:
    """With the defaults: after SIGKILL of a worker with tasks in hand, and after FLUSHALL."""
    bench.clear()
    with bench.workers("sleep", count=1, threads=4) as victim:
        bench.submit(4)
        in_hand = "SELECT count(*) = 4 FROM tasks WHERE state = 'processing'"
        assert processes.settles(lambda: bench.scalar(in_hand), timeout_s=30)
        os.killpg(victim.pid, signal.SIGKILL)
    begun_s = time.monotonic()
    with bench.workers("layer", count=1):
        done = "SELECT count(*) = 4 FROM tasks WHERE state = 'completed'"
        assert processes.settles(lambda: bench.scalar(done), timeout_s=60)
        after_kill_s = time.monotonic() - begun_s
        after_flush_s = _drained_after(bench, bench.client.flushall)
        after_return_s = _drained_after(bench, lambda: _restart_valkey(bench))
    return {
        "recovery_after_sigkill_s": after_kill_s,
        "recovery_after_flushall_s": after_flush_s,
        "recovery_after_redis_return_s": after_return_s,
    }


def _drained_after(bench: Bench, fault: Callable[[], object]) -> float:
    """Seconds from the end of a fault, with messages waiting in Redis, until all 1,000 tasks are done."""
    bench.clear()
    bench.submit(1000)
    queued = "SELECT count(*) > 100 FROM tasks WHERE state = 'queued'"
    assert processes.settles(lambda: bench.scalar(queued), timeout_s=30)
    fault()
    begun_s = time.monotonic()
    done = "SELECT count(*) = 1000 FROM tasks WHERE state = 'completed'"
    assert processes.settles(lambda: bench.scalar(done), timeout_s=60)
    return time.monotonic() - begun_s


def _restart_valkey(bench: Bench) -> None:
    bench.servers.stop("valkey")
    time.sleep(5)
    bench.servers.start_valkey()


def main() -> None:
    """Run everything, print a table, write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tasks", type=int, default=20_000, help="no-op tasks a run")
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="tasks in the big table")
    parser.add_argument("--only", nargs="+", help="submit, relay, publish, statements, no-ops, rows, ...")
    arguments = parser.parse_args()
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="safelight-bench-") as folder:
        Path(folder).chmod(0o755)
        with Servers(Path(folder)) as servers:
            bench = Bench(servers)
            parts: dict[str, Callable[[], dict[str, float]]] = {
                "submit": lambda: bulk_submit(bench),
                "relay": lambda: relay_round(bench),
                "publish": lambda: publishes(bench, arguments.tasks),
                "statements": lambda: round_trips(bench),
                "no-ops": lambda: no_ops(bench, arguments.tasks),
                "rows": lambda: cost_of_rows(bench, arguments.rows),
                "metrics": lambda: cost_of_metrics(bench),
                "figures": lambda: cost_of_a_scrape(bench),
                "recovery": lambda: recovery(bench),
                "claims": lambda: claims(bench, arguments.claims),
            }
            for part in arguments.only or parts:
                for name, value in parts[part]().items():
                    measured[name] = round(value, 3)
                    print(f"{name:32}{value:>14,.2f}", flush=True)
            bench.database.close()
            bench.patient.close()
    if arguments.json:
        arguments.json.write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
