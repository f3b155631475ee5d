"""What the workers, their processes, the store and the machine have left."""

from grafana.board import Board
from grafana.colours import BAD, GOOD, NEUTRAL, UP, WARNING
from grafana.panels import Panel, Query, Text, figure, lines, states
from grafana.promql import INSTANCE, pipeline, quantile, rate, share

_BUSY, _SLOTS = pipeline("safelight_worker_busy"), pipeline("safelight_worker_slots")
_STORAGE, _OURS = "safelight_storage_operation_duration_seconds", f'job="safelight", {INSTANCE}'
_PROCESS = "{{role}} {{process}}"
_GIB = 2**30


def _now() -> list[Panel]:
    return [
        figure(
            Text(
                "Workers alive",
                "Worker processes that announce themselves.",
                "as many as were started.",
                "short",
            ),
            Query(pipeline("safelight_workers_alive")),
            width=6,
            limits=[(None, BAD), (1, GOOD)],
        ),
        figure(
            Text(
                "Slots busy",
                "Share of the workers' slots at work.",
                "under 80 % but in bursts.",
                "percentunit",
            ),
            Query(share(_BUSY, _SLOTS)),
            width=6,
            limits=[(None, GOOD), (0.8, WARNING), (1, BAD)],
        ),
        figure(
            Text("Room in the store", "Free bytes of the store's disk.", "over 10 GiB.", "bytes"),
            Query(pipeline("safelight_store_free_bytes", of="min")),
            width=6,
            limits=[(None, BAD), (2 * _GIB, WARNING), (10 * _GIB, GOOD)],
        ),
        figure(
            Text(
                "Builds running", "How many builds run at once.", "1; 2 while a deploy is under way.", "short"
            ),
            Query("count(count by (version, revision) (safelight_build_info))"),
            width=6,
            limits=[(None, GOOD), (2, WARNING)],
        ),
    ]


def _workers() -> list[Panel]:
    pixels = rate("safelight_preview_pixels_total", "process", where=f'{INSTANCE}, role="worker"')
    return [
        lines(
            Text("Slots", "Slots at work, and all there are.", "busy below slots.", "short"),
            Query(_SLOTS, "slots"),
            Query(_BUSY, "busy"),
        ),
        lines(
            Text(
                "Share of slots busy",
                "Share of the slots at work; over 100 % until a dead worker's tasks are rescued.",
                "under 80 % but in bursts.",
                "percentunit",
            ),
            Query(share(_BUSY, _SLOTS), "busy"),
            limits=[(None, GOOD), (0.8, WARNING)],
        ),
        lines(
            Text(
                "Megapixels",
                "Millions of pixels previewed a second, by process.",
                "follows the uploads; the work that is done whatever the photos' sizes.",
                "suffix:MP/s",
            ),
            Query(f"{pixels} / 1e6", "{{process}}"),
            stacked=True,
        ),
    ]


def _processes() -> list[Panel]:
    decoders = f"sum by (process) (rate(safelight_decoder_cpu_seconds_total{{{INSTANCE}}}[$__rate_interval]))"
    return [
        lines(
            Text(
                "Memory by process",
                "Resident memory; a worker's decoders are lines of their own.",
                "level; a line that only rises is a leak.",
                "bytes",
            ),
            Query(f"process_resident_memory_bytes{{{_OURS}}}", _PROCESS),
            Query(f"safelight_decoder_resident_memory_bytes{{{INSTANCE}}}", "decoders of {{process}}"),
        ),
        lines(
            Text(
                "CPU by process",
                "Cores used; a worker's decoders are lines of their own.",
                "in step with the work, all together below the machine's cores.",
                "suffix:cores",
            ),
            Query(f"rate(process_cpu_seconds_total{{{_OURS}}}[$__rate_interval])", _PROCESS),
            Query(decoders, "decoders of {{process}}"),
        ),
        lines(
            Text(
                "Open files by process",
                "File descriptors in use, as a share of the limit.",
                "under 50 %.",
                "percentunit",
            ),
            Query(f"process_open_fds{{{_OURS}}} / process_max_fds{{{_OURS}}}", _PROCESS),
            limits=[(None, GOOD), (0.8, BAD)],
        ),
    ]


def _store() -> list[Panel]:
    count = rate(f"{_STORAGE}_count", "operation", where=INSTANCE)
    errors = rate("safelight_storage_errors_total", "operation", where=INSTANCE)
    return [
        lines(
            Text(
                "Storage latency, p50 and p95",
                "Duration of one operation.",
                "milliseconds on a disk, under a second on S3.",
                "s",
            ),
            *(
                Query(quantile(q / 100, _STORAGE, "operation", where=INSTANCE), f"{{{{operation}}}} p{q}")
                for q in (50, 95)
            ),
        ),
        lines(
            Text("Storage operations", "Operations a second.", "in step with uploads and tasks.", "ops"),
            Query(count, "{{operation}}"),
        ),
        lines(
            Text("Storage errors", "Share of operations that failed.", "0.", "percentunit"),
            Query(share(errors, count, "operation"), "{{operation}}"),
            limits=[(None, GOOD), (0.01, BAD)],
        ),
    ]


def _monitoring() -> list[Panel]:
    return [
        states(
            Text(
                "Figures read",
                "Whether the pipeline's figures could be read from each dependency at a scrape.",
                "green throughout; red means that panels show less than there is.",
                "short",
            ),
            Query(pipeline("safelight_collector_success", "dependency", of="min"), "{{dependency}}"),
            words=UP,
        ),
        lines(
            Text("Reading the figures", "How long a scrape waits for each dependency.", "milliseconds.", "s"),
            Query(pipeline("safelight_collector_duration_seconds", "dependency"), "{{dependency}}"),
            limits=[(None, GOOD), (5, BAD)],
        ),
        lines(
            Text(
                "Processes by build",
                "Processes that run each build.",
                "one line; two while a deploy is under way.",
                "short",
            ),
            Query("count by (version, revision) (safelight_build_info)", "{{version}} {{revision}}"),
            stacked=True,
            limits=[(None, NEUTRAL)],
        ),
    ]


BOARD = Board(
    "safelight-workers",
    "workers and host",
    "Slots, memory, CPU, megapixels, the object store, and the monitoring itself.",
    ("instance",),
    {
        "Now": _now(),
        "Workers": _workers(),
        "Processes": _processes(),
        "Object store": _store(),
        "Monitoring": _monitoring(),
    },
)
