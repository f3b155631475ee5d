"""The PromQL that the panels have in common."""

from __future__ import annotations

KIND = 'kind=~"$kind"'
INSTANCE = 'instance=~"$instance"'


def rate(metric: str, *by: str, where: str = "") -> str:
    """A counter's sum of rates a second, by labels."""
    return f"sum{_by(*by)} (rate({metric}{{{where}}}[$__rate_interval]))"


def quantile(share: float, histogram: str, *by: str, where: str = "") -> str:
    """A histogram's quantile; no sample, rather than NaN, where nothing was observed.

    Args:
        histogram: its name without `_bucket`.
    """
    return f"histogram_quantile({share}, {rate(f'{histogram}_bucket', 'le', *by, where=where)}) >= 0"


def mean(histogram: str, *by: str, where: str = "") -> str:
    """A histogram's mean; no sample where nothing was observed."""
    total = rate(f"{histogram}_sum", *by, where=where)
    return f"{total} / {rate(f'{histogram}_count', *by, where=where)} >= 0"


def share(part: str, whole: str, *by: str) -> str:
    """How much of the whole a part is, 0 where the whole is 0; both by the same labels."""
    zero = f"0 * {whole}" if by else "vector(0)"
    return f"{part} / ({whole} > 0) or {zero}"


def buckets(histogram: str, where: str = "") -> str:
    """A histogram's observations by bucket, for a heatmap."""
    return f"sum by (le) (increase({histogram}_bucket{{{where}}}[$__rate_interval]))"


def pipeline(metric: str, *by: str, where: str = "", of: str = "max") -> str:
    """A figure of the pipeline as a whole, which each host of the API exports alike."""
    return f"{of}{_by(*by)} ({metric}{{{where}}})"


def _by(*labels: str) -> str:
    return f" by ({', '.join(labels)})" if labels else ""
