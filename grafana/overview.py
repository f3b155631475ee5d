"""Is it healthy? The first page to look at."""

from grafana.board import Board
from grafana.colours import BAD, GOOD, OUTCOMES, STATES, UP
from grafana.panels import Panel, Query, Text, density, lines, states
from grafana.promql import KIND, buckets, pipeline, quantile, rate
from grafana.service_level import PROMISED_S, READY, now, service_level


def _photos() -> list[Panel]:
    uploads = 'method="POST", route=~"/v1/photos.*", status=~"2.."'
    return [
        lines(
            Text(
                "Photos in and out",
                "Uploads that were accepted, photos that became ready, and those that failed, a second.",
                "uploads and ready together, and no failure by the service's fault.",
                "suffix:photos/s",
            ),
            Query(f"{rate('safelight_http_requests_total', where=uploads)} or vector(0)", "uploads"),
            Query(rate(f"{READY}_count"), "ready"),
            Query(rate("safelight_photos_failed_total", "fault"), "failed ({{fault}})"),
        ),
        lines(
            Text(
                "Upload to ready",
                "From a photo's first byte to the end of its last task.",
                f"p99 under {PROMISED_S} s (dashed); a rising line is a backlog.",
                "s",
            ),
            *(Query(quantile(q / 100, READY), f"p{q}") for q in (50, 95, 99)),
            limits=[(None, GOOD), (PROMISED_S, BAD)],
        ),
        density(
            Text(
                "Upload to ready, all",
                "How many photos took how long.",
                "dark at the bottom, nothing high up.",
                "s",
            ),
            Query(buckets(READY), "{{le}}"),
        ),
    ]


def _failures() -> list[Panel]:
    errors = rate("safelight_task_errors_total", "error_type", where=KIND)
    return [
        lines(
            Text(
                "Failures by type",
                "Attempts that failed, a second; `none` is there so that no failure is a line at 0.",
                "none, but for what people upload that isn't a picture.",
                "ops",
            ),
            Query(
                f'{errors} > 0 or label_replace(vector(0), "error_type", "none", "", "")', "{{error_type}}"
            ),
        ),
        lines(
            Text(
                "Attempts by outcome",
                "How attempts at tasks end, a second.",
                "completed, and next to nothing else.",
                "ops",
            ),
            Query(rate("safelight_tasks_total", "outcome", where=KIND), "{{outcome}}"),
            stacked=True,
            colours=OUTCOMES,
        ),
        lines(
            Text("Failed requests", "Share of requests that the API answered with 5xx.", "0.", "percentunit"),
            Query("safelight:http_errors:ratio_rate5m", "5xx"),
            limits=[(None, GOOD), (0.01, BAD)],
            colours={"5xx": BAD},
        ),
    ]


def _machinery() -> list[Panel]:
    depth = pipeline("safelight_queue_depth", "kind", "state", where=f'{KIND}, state!="failed"')
    return [
        lines(
            Text(
                "Queue depth", "Live tasks by state.", "pending and queued fall to 0 between bursts.", "short"
            ),
            Query(f"sum by (state) ({depth})", "{{state}}"),
            width=6,
            stacked=True,
            colours=STATES,
        ),
        lines(
            Text(
                "Oldest due task",
                "How long the oldest due task waits.",
                "seconds; a straight slope is a standstill.",
                "s",
            ),
            Query(pipeline("safelight_queue_oldest_age_seconds", "kind", where=KIND), "{{kind}}"),
            width=6,
            limits=[(None, GOOD), (PROMISED_S, BAD)],
        ),
        lines(
            Text(
                "Workers",
                "Tasks being processed, and how many could be at once.",
                "busy below slots; at slots for long means more workers are needed.",
                "short",
            ),
            Query(pipeline("safelight_worker_slots"), "slots"),
            Query(pipeline("safelight_worker_busy"), "busy"),
            Query(pipeline("safelight_workers_alive"), "processes"),
            width=6,
        ),
        states(
            Text(
                "Dependencies",
                "Whether PostgreSQL, Redis and the object store answer.",
                "green throughout.",
                "short",
            ),
            Query(pipeline("safelight_dependency_up", "dependency", of="min"), "{{dependency}}"),
            words=UP,
            width=6,
        ),
    ]


BOARD = Board(
    "safelight-overview",
    "overview",
    "Is it healthy? Service level, photos in and out, failures, queues, workers, dependencies.",
    ("kind",),
    {
        "Now": now(),
        "Service level": service_level(),
        "Photos": _photos(),
        "Failures": _failures(),
        "Queues, workers, dependencies": _machinery(),
    },
)
