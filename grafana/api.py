"""What the API answers, how fast, and what comes in."""

from grafana.board import Board
from grafana.colours import BAD, GOOD, NEUTRAL, STATUSES, WARNING
from grafana.panels import Panel, Query, Text, density, figure, lines
from grafana.promql import INSTANCE, buckets, quantile, rate, share

_REQUESTS, _DURATION = "safelight_http_requests_total", "safelight_http_request_duration_seconds"
_IN_FLIGHT = "safelight_http_requests_in_flight"
_FAILED = f'{INSTANCE}, status=~"5.."'


def _now() -> list[Panel]:
    return [
        figure(
            Text("Requests", "Requests answered, a second.", "as on other days at this hour.", "reqps"),
            Query(rate(_REQUESTS, where=INSTANCE)),
            width=6,
            limits=[(None, NEUTRAL)],
        ),
        figure(
            Text("Failed requests", "Share of requests answered with 5xx.", "0.", "percentunit"),
            Query(share(f"({rate(_REQUESTS, where=_FAILED)} or vector(0))", rate(_REQUESTS, where=INSTANCE))),
            width=6,
            limits=[(None, GOOD), (0.001, WARNING), (0.01, BAD)],
        ),
        figure(
            Text("Duration, p95", "Of all routes, the upload's body included.", "under a second.", "s"),
            Query(quantile(0.95, _DURATION, where=INSTANCE)),
            width=6,
            limits=[(None, GOOD), (1, WARNING), (5, BAD)],
        ),
        figure(
            Text(
                "In flight", "Requests being answered now.", "few; near all threads, clients wait.", "short"
            ),
            Query(f"sum({_IN_FLIGHT}{{{INSTANCE}}})"),
            width=6,
            limits=[(None, NEUTRAL)],
        ),
    ]


def _requests() -> list[Panel]:
    refused = rate(_REQUESTS, "route", "status", where=f'{INSTANCE}, status=~"[45].."')
    none = 'label_replace(vector(0), "status", "none", "", "")'
    return [
        lines(
            Text(
                "Requests by route",
                "Requests answered, a second.",
                "the mix of routes stays the same.",
                "reqps",
            ),
            Query(f"{rate(_REQUESTS, 'method', 'route', where=INSTANCE)} > 0", "{{method}} {{route}}"),
        ),
        lines(
            Text(
                "Requests by status",
                "Requests answered, a second.",
                "2xx and 3xx; 4xx is the clients' doing, 5xx ours.",
                "reqps",
            ),
            Query(f"{rate(_REQUESTS, 'status', where=INSTANCE)} > 0", "{{status}}"),
            stacked=True,
            colours=STATUSES,
        ),
        lines(
            Text(
                "Errors by route",
                "Requests answered with 4xx or 5xx; `none` is there so that no error is a line at 0.",
                "no 5xx; few 4xx.",
                "reqps",
            ),
            Query(f"{refused} > 0 or {none}", "{{status}} {{route}}"),
        ),
    ]


def _durations() -> list[Panel]:
    def by_route(q: int) -> Panel:
        return lines(
            Text(
                f"Duration by route, p{q}",
                "From the request's start to its answer; a GET with `Prefer: wait` holds on purpose.",
                "steady; uploads grow with their size.",
                "s",
            ),
            Query(quantile(q / 100, _DURATION, "method", "route", where=INSTANCE), "{{method}} {{route}}"),
        )

    return [
        by_route(50),
        by_route(95),
        density(
            Text("Duration, all", "How many requests took how long.", "dark at the bottom.", "s"),
            Query(buckets(_DURATION, INSTANCE), "{{le}}"),
        ),
    ]


def _load() -> list[Panel]:
    return [
        lines(
            Text(
                "Upload",
                "Bytes of stored originals, a second.",
                "below what network and store can take.",
                "binBps",
            ),
            Query(
                rate("safelight_upload_bytes_total", "process", where=f'{INSTANCE}, role="api"'),
                "{{process}}",
            ),
            width=8,
            stacked=True,
        ),
        lines(
            Text(
                "In flight by process",
                "Requests being answered, by API process.",
                "spread evenly; a line that only rises is a leak.",
                "short",
            ),
            Query(f'sum by (process) ({_IN_FLIGHT}{{{INSTANCE}, role="api"}})', "{{process}}"),
            width=8,
            stacked=True,
        ),
        lines(
            Text(
                "Open event streams",
                "Streams that clients hold open, by API process.",
                "as many as pages and clients listen; below the places that there are for those who wait.",
                "short",
            ),
            Query(f'sum by (process) (safelight_streams_open{{{INSTANCE}, role="api"}})', "{{process}}"),
            width=8,
            stacked=True,
        ),
    ]


BOARD = Board(
    "safelight-api",
    "API",
    "Rate, errors and duration by route; uploads; requests in flight.",
    ("instance",),
    {"Now": _now(), "Requests": _requests(), "Duration": _durations(), "Load": _load()},
)
