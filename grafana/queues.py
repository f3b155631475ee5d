"""How tasks of each kind wait, run, fail and come back."""

from grafana.board import DEAD_LETTERS, Board
from grafana.colours import BAD, BREAKER, GOOD, PAUSED, WARNING
from grafana.panels import Panel, Query, Text, density, lines, rows, states
from grafana.promql import INSTANCE, KIND, buckets, mean, pipeline, quantile, rate, share

_TOTAL, _ATTEMPTS = "safelight_tasks_total", "safelight_task_attempts"
_WAIT, _RUN = "safelight_task_wait_seconds", "safelight_task_duration_seconds"
_WHERE = f"{KIND}, {INSTANCE}"


def _rates() -> list[Panel]:
    bad = rate(_TOTAL, "kind", where=f'{_WHERE}, outcome=~"retried|failed"')
    return [
        lines(
            Text("Attempts by outcome", "How attempts end, a second.", "completed alone.", "ops"),
            Query(rate(_TOTAL, "kind", "outcome", where=_WHERE), "{{kind}} {{outcome}}"),
        ),
        lines(
            Text(
                "Attempts that fail",
                "Share of attempts that were retried or failed for good.",
                "0.",
                "percentunit",
            ),
            Query(share(bad, rate(_TOTAL, "kind", where=_WHERE), "kind"), "{{kind}}"),
            limits=[(None, GOOD), (0.05, BAD)],
        ),
        lines(
            Text("Depth by kind", "Live tasks by kind and state.", "falls to 0 between bursts.", "short"),
            Query(
                pipeline("safelight_queue_depth", "kind", "state", where=f'{KIND}, state!="failed"'),
                "{{kind}} {{state}}",
            ),
        ),
        lines(
            Text("Oldest due task", "How long the oldest due task of each kind waits.", "seconds.", "s"),
            Query(pipeline("safelight_queue_oldest_age_seconds", "kind", where=KIND), "{{kind}}"),
            width=12,
            limits=[(None, GOOD), (30, BAD)],
        ),
        states(
            Text("Paused queues", "Whether a person has stopped a queue.", "running.", "short"),
            Query(pipeline("safelight_queue_paused", "kind", where=KIND), "{{kind}}"),
            words=PAUSED,
            width=12,
        ),
    ]


def _times() -> list[Panel]:
    def quantiles(title: str, what: str, good: str, histogram: str) -> Panel:
        queries = [
            Query(quantile(q / 100, histogram, "kind", where=_WHERE), f"{{{{kind}}}} p{q}")
            for q in (50, 95, 99)
        ]
        return lines(Text(title, what, good, "s"), *queries)

    return [
        quantiles(
            "Wait", "From due to claimed, by kind.", "under a second; seconds mean too few slots.", _WAIT
        ),
        quantiles(
            "Run", "From claim to the attempt's end, by kind.", "steady, far below the time limit.", _RUN
        ),
        lines(
            Text(
                "Wait against run",
                "Mean seconds that a task waits and runs.",
                "wait below run; above it, more workers help.",
                "s",
            ),
            Query(mean(_WAIT, "kind", where=_WHERE), "{{kind}} waits"),
            Query(mean(_RUN, "kind", where=_WHERE), "{{kind}} runs"),
        ),
        density(
            Text("Wait, all", "How many tasks waited how long.", "dark at the bottom, nothing high up.", "s"),
            Query(buckets(_WAIT, _WHERE), "{{le}}"),
            width=12,
        ),
        density(
            Text("Run, all", "How many attempts ran how long.", "one or two steady bands, a kind each.", "s"),
            Query(buckets(_RUN, _WHERE), "{{le}}"),
            width=12,
        ),
    ]


def _retries() -> list[Panel]:
    first = rate(f"{_ATTEMPTS}_bucket", "kind", where=f'{_WHERE}, le="1.0"')
    return [
        lines(
            Text("Attempts to success", "Mean attempts that a completed task took.", "1.", "short"),
            Query(mean(_ATTEMPTS, "kind", where=_WHERE), "{{kind}}"),
            limits=[(None, GOOD), (1.5, WARNING)],
        ),
        lines(
            Text(
                "Done at once",
                "Share of completed tasks that needed one attempt only.",
                "near 100 %.",
                "percentunit",
            ),
            Query(f"{first} / {rate(f'{_ATTEMPTS}_count', 'kind', where=_WHERE)} >= 0", "{{kind}}"),
            top=1,
        ),
        lines(
            Text(
                "Retries and snoozes",
                "Put off a second: retried after an error, snoozed while a dependency is away (exif also"
                " where the previews failed that it went along with).",
                "0.",
                "ops",
            ),
            Query(
                rate(_TOTAL, "kind", "outcome", where=f'{_WHERE}, outcome=~"retried|snoozed"'),
                "{{kind}} {{outcome}}",
            ),
        ),
    ]


def _dead() -> list[Panel]:
    dead = pipeline("safelight_dead_letters", "kind", "error_type", where=KIND)
    errors = rate("safelight_task_errors_total", "kind", "error_type", where=_WHERE)
    return [
        rows(
            Text(
                "Dead letters by type of error",
                "Failed tasks that nobody has dealt with; a row leads to them in the console.",
                "no rows.",
                "short",
            ),
            Query(f"{dead} > 0"),
            columns=("kind", "error_type"),
            value="tasks",
            width=8,
            link=DEAD_LETTERS + "?kind=${__data.fields.kind}&error_type=${__data.fields.error_type}",
        ),
        lines(
            Text(
                "Dead letters",
                "Failed tasks that nobody has dealt with, over time.",
                "0; it falls by a person alone.",
                "short",
            ),
            Query(f"sum by (kind) ({dead})", "{{kind}}"),
            stacked=True,
        ),
        lines(
            Text(
                "Errors by type",
                "Attempts that failed, a second; `none` is there so that no failure is a line at 0.",
                "none, but for what people upload that isn't a picture.",
                "ops",
            ),
            Query(
                f'{errors} > 0 or label_replace(vector(0), "error_type", "none", "", "")',
                "{{kind}} {{error_type}}",
            ),
        ),
    ]


def _relay() -> list[Panel]:
    return [
        lines(
            Text(
                "Published by the relay",
                "Due tasks made queued, a second; an upload's own first message isn't among them.",
                "follows retries, and the backlog when there is one.",
                "ops",
            ),
            Query(rate("safelight_relay_published_total", "kind", where=_WHERE), "{{kind}}"),
            width=12,
        ),
        lines(
            Text(
                "Recovered by the relay",
                "Tasks brought back a second: their worker died, their message was lost, or it came late.",
                "0; a burst follows a crash, a steady line is a fault.",
                "ops",
            ),
            Query(
                rate("safelight_relay_recovered_total", "kind", "reason", where=_WHERE), "{{kind}} {{reason}}"
            ),
            width=12,
        ),
    ]


def _remote() -> list[Panel]:
    polls = rate(_TOTAL, "outcome", where=f'{INSTANCE}, kind="analysis"')
    return [
        lines(
            Text(
                "Calls of the analysis service",
                "Attempts at analyses, a second; a poll that found it not yet done is snoozed.",
                "snoozed and completed, hardly any retried.",
                "ops",
            ),
            Query(polls, "{{outcome}}"),
            width=12,
        ),
        states(
            Text(
                "Breakers",
                "Whether a worker calls the analysis service no more, since it failed again and again.",
                "closed.",
                "short",
            ),
            Query(f"max by (process) (safelight_remote_breaker_open{{{INSTANCE}}})", "{{process}}"),
            words=BREAKER,
            width=12,
        ),
    ]


BOARD = Board(
    "safelight-queues",
    "queues and tasks",
    "How tasks of each kind wait, run, fail and come back.",
    ("kind", "instance"),
    {
        "Rates and depth": _rates(),
        "Wait and run": _times(),
        "Attempts": _retries(),
        "Dead letters": _dead(),
        "Relay": _relay(),
        "Remote service": _remote(),
    },
)
