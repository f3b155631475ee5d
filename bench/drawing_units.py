"""Values with Grafana's units, as Grafana writes them."""

from __future__ import annotations

import math
from collections.abc import Callable

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_RATES = {"ops": "ops/s", "reqps": "req/s", "short": ""}


def text_of(value: float, unit: str) -> str:
    """A value in words: `1.5 s`, `12 MiB`, `99.2 %`."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if value == math.inf:
        return "+Inf"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if 0 < abs(value) < 1 else f"{value:.3g} s"
    if unit in ("bytes", "binBps"):
        return _bytes(value) + ("/s" if unit == "binBps" else "")
    number = f"{value:.0f}" if value == round(value) else f"{value:.3g}"
    return f"{number} {_RATES.get(unit, unit.removeprefix('suffix:'))}".strip()


def axis_format(unit: str) -> Callable[[float, float], str]:
    """The same for an axis' ticks, without what `title_unit` says."""
    return lambda value, _: text_of(value, unit).removesuffix(title_unit(unit)).strip()


def title_unit(unit: str) -> str:
    """The unit that stands once beside the title, since it would be too long for each tick."""
    return _RATES.get(unit, unit.removeprefix("suffix:") if unit.startswith("suffix:") else "")


def _bytes(value: float) -> str:
    power = 0
    while value >= 1024 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.3g} {_BINARY[power]}"
