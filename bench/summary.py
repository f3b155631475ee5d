"""What runs come to: percentiles, medians, and ratios within each round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TypeVar

Figures = Mapping[str, float]
T = TypeVar("T")


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of all are at most; between two of them, in proportion.

    Args:
        percent: 1 to 99.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a percentile of nothing")
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def medians(rounds: Sequence[Figures]) -> dict[str, float]:
    """The median of each figure over the rounds."""
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}


def ratios(first: Sequence[Figures], second: Sequence[Figures]) -> dict[str, float]:
    """Second over first of each figure: the ratio within each round, then their median.

    What slows the machine for a while slows both of a round, so ratios hold where times don't.
    A figure that was 0 has none.
    """
    pairs = list(zip(first, second, strict=True))
    return {
        name: statistics.median(b[name] / a[name] for a, b in pairs)
        for name in first[0]
        if all(a[name] for a, _ in pairs)
    }


def turns(names: Sequence[T], rounds: int) -> list[list[T]]:
    """Who runs when: A B, B A, A B, ... so that neither always comes first."""
    return [list(names) if number % 2 == 0 else list(reversed(names)) for number in range(rounds)]
