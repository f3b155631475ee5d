"""The overview's first figures, and how the service level stands."""

from grafana.board import DEAD_LETTERS
from grafana.colours import BAD, GOOD, NEUTRAL, WARNING
from grafana.panels import Panel, Query, Text, address, figure, lines
from grafana.promql import KIND, pipeline, quantile, rate

READY = "safelight_photo_ready_seconds"
PROMISED_S = 30


def now() -> list[Panel]:
    dead = f"sum({pipeline('safelight_dead_letters', 'kind', 'error_type', where=KIND)})"
    return [
        figure(
            Text(
                "In time, last hour",
                f"Share of photos ready within {PROMISED_S} s.",
                "99 % or more.",
                "percentunit",
            ),
            Query("1 - safelight:photo_ready_slow:ratio_rate1h"),
            limits=[(None, BAD), (0.99, GOOD)],
        ),
        figure(
            Text(
                "Error budget left",
                "Share of the late photos allowed in 30 days that isn't used up.",
                "over 25 %; below 0 the objective is missed.",
                "percentunit",
            ),
            Query("safelight:slo_error_budget_left:ratio"),
            limits=[(None, BAD), (0, WARNING), (0.25, GOOD)],
        ),
        figure(
            Text(
                "Photos ready",
                "Photos that became ready, a second.",
                "follows the uploads.",
                "suffix:photos/s",
            ),
            Query(rate(f"{READY}_count")),
            limits=[(None, NEUTRAL)],
        ),
        figure(
            Text(
                "Upload to ready, p95",
                "From a photo's first byte to its last task's end.",
                f"a few seconds; {PROMISED_S} s are promised.",
                "s",
            ),
            Query(quantile(0.95, READY)),
            limits=[(None, GOOD), (10, WARNING), (PROMISED_S, BAD)],
        ),
        figure(
            Text("Dead letters", "Failed tasks that nobody has dealt with.", "0.", "short"),
            Query(dead),
            limits=[(None, GOOD), (1, WARNING), (100, BAD)],
            link=address("Open dead letters in the console", DEAD_LETTERS),
        ),
        figure(
            Text(
                "Workers alive",
                "Worker processes that announce themselves.",
                "as many as were started.",
                "short",
            ),
            Query(pipeline("safelight_workers_alive")),
            limits=[(None, BAD), (1, GOOD)],
        ),
        figure(
            Text(
                "Dependencies up",
                "How many of PostgreSQL, Redis and the object store answer; below, which.",
                "all three.",
                "short",
            ),
            Query(f"sum({pipeline('safelight_dependency_up', 'dependency', of='min')})"),
            limits=[(None, BAD), (3, GOOD)],
        ),
        figure(
            Text("Alerts firing", "Alerts that fire now.", "0.", "short"),
            Query('count(ALERTS{alertstate="firing", severity!="none"}) or vector(0)'),
            limits=[(None, GOOD), (1, BAD)],
            link=address("Open the alerts in Prometheus", "${prometheus}/alerts"),
        ),
    ]


def service_level() -> list[Panel]:
    windows = ("5m", "30m", "1h", "6h")
    late = [Query(f"safelight:photo_ready_slow:ratio_rate{window}", window) for window in windows]
    spent = [
        Query(
            f"safelight:photo_ready_slow:ratio_rate{window} / scalar(1 - safelight:slo_objective:ratio)",
            window,
        )
        for window in ("1h", "6h", "3d")
    ]
    return [
        lines(
            Text(
                "Late photos",
                "Share of photos that weren't ready in time, over windows.",
                "under the objective's 1 % (dashed).",
                "percentunit",
            ),
            *late,
            Query("1 - safelight:slo_objective:ratio", "allowed"),
            colours={"allowed": BAD},
        ),
        lines(
            Text(
                "Burn rate",
                "How fast the error budget is spent: at 1 it lasts just 30 days.",
                "under 1; above 6 for hours, or 14.4 for one, someone must act.",
                "suffix:x",
            ),
            *spent,
            limits=[(None, GOOD), (6, WARNING), (14.4, BAD)],
        ),
        lines(
            Text(
                "Error budget left over time",
                "What is left of 30 days' late photos.",
                "falls slower than it refills.",
                "percentunit",
            ),
            Query("safelight:slo_error_budget_left:ratio", "left"),
            top=1,
            below_zero=True,
            limits=[(None, BAD), (0.25, GOOD)],
        ),
    ]
