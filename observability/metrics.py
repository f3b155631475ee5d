"""What is measured, by the names of the design; every label set exists from the start, with 0.

Each process has one registry of its own. The pipeline as a whole is in `observability.pipeline`.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from observability import logs

OUTCOMES = ("completed", "retried", "failed", "snoozed")
RECOVERIES = ("lease-expired", "message-lost")
FAULTS = ("upload", "service")
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
# Most answers and operations are far shorter than any task.
SHORT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_PREFIX = "safelight_"


class TaskMetrics:
    """How tasks of each kind wait, run and end."""

    def __init__(
        self, registry: CollectorRegistry, *, kinds: Iterable[str], error_types: Iterable[str]
    ) -> None:
        self._total = Counter(
            f"{_PREFIX}tasks_total", "Attempts by how they ended", ("kind", "outcome"), registry=registry
        )
        self._duration = Histogram(
            f"{_PREFIX}task_duration_seconds",
            "From claim to end of an attempt",
            ("kind",),
            buckets=SECONDS,
            registry=registry,
        )
        self._wait = Histogram(
            f"{_PREFIX}task_wait_seconds",
            "From submitted, or due again, to claim; backoff isn't counted",
            ("kind",),
            buckets=SECONDS,
            registry=registry,
        )
        self._attempts = Histogram(
            f"{_PREFIX}task_attempts",
            "Attempts that a completed task took",
            ("kind",),
            buckets=(1, 2, 3, 4, 5, 8),
            registry=registry,
        )
        self._errors = Counter(
            f"{_PREFIX}task_errors_total",
            "Attempts that failed, by type of error",
            ("kind", "error_type"),
            registry=registry,
        )
        self._published = Counter(
            f"{_PREFIX}relay_published_total", "Tasks made queued by the relay", ("kind",), registry=registry
        )
        self._recovered = Counter(
            f"{_PREFIX}relay_recovered_total",
            "Tasks that the relay brought back",
            ("kind", "reason"),
            registry=registry,
        )
        error_types = tuple(error_types)
        for kind in kinds:
            for histogram in (self._duration, self._wait, self._attempts):
                histogram.labels(kind)
            self._published.labels(kind)
            for outcome in OUTCOMES:
                self._total.labels(kind, outcome)
            for error_type in error_types:
                self._errors.labels(kind, error_type)
            for reason in RECOVERIES:
                self._recovered.labels(kind, reason)

    def begun(self, kind: str, waited_s: float) -> None:
        """A task was claimed `waited_s` seconds after it was due."""
        self._wait.labels(kind).observe(max(0.0, waited_s))

    def worked(self, kind: str, duration_s: float) -> None:
        """An attempt of this process is over."""
        self._duration.labels(kind).observe(duration_s, _exemplar())

    def ended(self, kind: str, outcome: str, attempts: int, error_type: str | None) -> None:
        """An attempt's end is committed."""
        self._total.labels(kind, outcome).inc()
        if outcome == "completed":
            self._attempts.labels(kind).observe(attempts)
        if error_type is not None:
            self._errors.labels(kind, error_type).inc()

    def published(self, kind: str, count: int) -> None:
        """The relay made `count` due tasks queued."""
        self._published.labels(kind).inc(count)

    def recovered(self, kind: str, reason: str, count: int) -> None:
        """The relay brought back `count` tasks, for one of `RECOVERIES`."""
        self._recovered.labels(kind, reason).inc(count)


class PhotoMetrics:
    """What comes in, and how soon it is ready."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ready = Histogram(
            f"{_PREFIX}photo_ready_seconds",
            "From the upload's first byte to the end of its last task",
            buckets=SECONDS,
            registry=registry,
        )
        self._failed = Counter(
            f"{_PREFIX}photos_failed_total",
            "Photos that failed, by whose fault it was: that of the upload, or the service's",
            ("fault",),
            registry=registry,
        )
        for fault in FAULTS:
            self._failed.labels(fault)
        self._bytes = Counter(f"{_PREFIX}upload_bytes_total", "Bytes of stored originals", registry=registry)
        self._pixels = Counter(
            f"{_PREFIX}preview_pixels_total", "Pixels of originals that were previewed", registry=registry
        )

    def ready(self, seconds: float) -> None:
        """A photo became ready, `seconds` after its first byte."""
        self._ready.observe(seconds, _exemplar())

    def failed(self, fault: str) -> None:
        """A photo failed, by the fault of one of `FAULTS`."""
        self._failed.labels(fault).inc()

    def uploaded(self, size_bytes: int) -> None:
        """An original was stored and its photo committed."""
        self._bytes.inc(size_bytes)

    def previewed(self, pixels: int) -> None:
        """A photo's previews were made from so many pixels."""
        self._pixels.inc(pixels)


class RemoteMetrics:
    """The slow remote service, as this process finds it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            f"{_PREFIX}remote_breaker_open",
            "Whether this process calls the remote service no more, but for a probe now and then",
            registry=registry,
        )

    def breaker(self, is_open: bool) -> None:
        """The breaker opened or closed."""
        self._open.set(is_open)


class StreamMetrics:
    """Clients that listen to events."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            f"{_PREFIX}streams_open", "Event streams that clients hold open", registry=registry
        )

    def open(self, count: int) -> None:
        """So many are open in this process now."""
        self._open.set(count)


class HttpMetrics:
    """Requests by route; the route is the rule, never the path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._total = Counter(f"{_PREFIX}http_requests_total", "Requests", labels, registry=registry)
        self._duration = Histogram(
            f"{_PREFIX}http_request_duration_seconds",
            "Requests' duration, the body's upload included",
            labels,
            buckets=SHORT_SECONDS,
            registry=registry,
        )
        self.in_flight = Gauge(
            f"{_PREFIX}http_requests_in_flight", "Requests being answered", registry=registry
        )

    def expect(self, method: str, route: str, statuses: Iterable[int]) -> None:
        """Have what a route may answer be there from the start, with 0; errors are counted, not timed."""
        for status in statuses:
            self._total.labels(method, route, status)
            if status < 400:
                self._duration.labels(method, route, status)

    def answered(self, method: str, route: str, status: int, duration_s: float) -> None:
        """A request was answered."""
        self._total.labels(method, route, status).inc()
        self._duration.labels(method, route, status).observe(duration_s, _exemplar())


class StoreMetrics:
    """The object store's operations."""

    def __init__(self, registry: CollectorRegistry, *, operations: Iterable[str]) -> None:
        self.duration = Histogram(
            f"{_PREFIX}storage_operation_duration_seconds",
            "Duration of one operation",
            ("operation",),
            buckets=SHORT_SECONDS,
            registry=registry,
        )
        self.errors = Counter(
            f"{_PREFIX}storage_errors_total", "Failed operations", ("operation",), registry=registry
        )
        for operation in operations:
            self.duration.labels(operation)
            self.errors.labels(operation)


def process_registry(*, version: str, revision: str) -> CollectorRegistry:
    """A registry for one process: its memory, CPU time and open files, and which build it runs."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    info = Gauge(f"{_PREFIX}build_info", "The running build", ("version", "revision"), registry=registry)
    info.labels(version, revision).set(1)
    return registry


def _exemplar() -> dict[str, str] | None:
    """The trace that an observation belongs to, for whoever scrapes in OpenMetrics format."""
    trace_id = logs.context().get("trace_id")
    return {"trace_id": trace_id} if trace_id else None
