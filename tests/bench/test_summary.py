"""What runs come to."""

from __future__ import annotations

import pytest

from bench.summary import medians, percentile, ratios, turns


def test_percentiles_lie_between_the_values() -> None:
    values = list(range(101))
    assert percentile(values, 50) == 50
    assert percentile(values, 95) == 95
    assert percentile([1, 2], 50) == 1.5


def test_the_order_of_the_values_plays_no_part() -> None:
    assert percentile([3, 1, 2], 50) == 2


def test_one_value_is_every_percentile() -> None:
    assert percentile([7.0], 95) == 7.0


def test_there_is_no_percentile_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)


def test_a_median_is_of_each_figure_by_itself() -> None:
    rounds = [{"a": 1.0, "b": 9.0}, {"a": 2.0, "b": 8.0}, {"a": 30.0, "b": 7.0}]
    assert medians(rounds) == {"a": 2.0, "b": 8.0}


def test_a_ratio_is_taken_within_each_round() -> None:
    """In the second round the machine was ten times as slow: for both."""
    first = [{"rate": 10.0}, {"rate": 1.0}, {"rate": 12.0}]
    second = [{"rate": 20.0}, {"rate": 2.0}, {"rate": 24.0}]
    assert ratios(first, second) == {"rate": 2.0}


def test_what_was_nothing_has_no_ratio() -> None:
    assert ratios([{"a": 0.0, "b": 1.0}], [{"a": 1.0, "b": 2.0}]) == {"b": 2.0}


def test_neither_always_comes_first() -> None:
    assert turns(["a", "b"], 3) == [["a", "b"], ["b", "a"], ["a", "b"]]
