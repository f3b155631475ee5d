"""A dashboard's panels drawn by matplotlib, roughly as Grafana lays them out, from their own queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from bench.drawing_units import axis_format, text_of
from tests.grafana.boards import filled
from tests.prometheus import Asked

mpl.use("agg")

Json = dict[str, Any]
COLOURS = {"green": "#56a64b", "orange": "#ff9830", "red": "#e02f44", "blue": "#3274d9", "yellow": "#f2cc0c"}
_PALETTE = ("#3274d9", "#56a64b", "#ff9830", "#a352cc", "#e02f44", "#37872d", "#6ed0e0", "#b8860b", "#8f3bb8")
_INCHES_X, _INCHES_Y, _STEPS, _LEGEND = 0.72, 0.34, 150, 8


@dataclass(frozen=True)
class Span:
    """From when to when, in Unix seconds."""

    start_s: float
    end_s: float

    @property
    def step_s(self) -> float:
        return (self.end_s - self.start_s) / _STEPS


@dataclass(frozen=True)
class Line:
    """One series: minutes since the start, values, and its name."""

    name: str
    minutes: list[float]
    values: list[float]
    labels: dict[str, str]


def draw(board: Json, prometheus: Asked, span: Span, path: Path) -> None:
    """Write a dashboard as a PNG."""
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"])
    figure = Figure(figsize=(24 * _INCHES_X, height * _INCHES_Y), facecolor="#f4f5f5")
    for panel in board["panels"]:
        spot = panel["gridPos"]
        if panel["type"] == "row":
            figure.text(0.006, 1 - (spot["y"] + 0.75) / height, panel["title"], fontsize=11, weight="bold")
            continue
        pad_left, pad_right, pad_top, pad_bottom = _MARGINS[panel["type"]]
        left, bottom = (spot["x"] + pad_left) / 24, 1 - (spot["y"] + spot["h"] - pad_bottom) / height
        width, tall = (spot["w"] - pad_left - pad_right) / 24, (spot["h"] - pad_top - pad_bottom) / height
        axes = figure.add_axes((left, bottom, width, tall))
        axes.set_title(panel["title"], fontsize=9, loc="left", weight="bold")
        _DRAWERS[panel["type"]](axes, panel, prometheus, span)
    figure.savefig(path, dpi=80)
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)


def _series(panel: Json, prometheus: Asked, span: Span) -> list[Line]:
    found = []
    for target in panel["targets"]:
        for each in prometheus.over_time(filled(target["expr"]), span.start_s, span.end_s, span.step_s):
            labels: dict[str, str] = each["metric"]
            parts = re.split(r"{{(\w+)}}", target["legendFormat"])
            name = "".join(labels.get(part, "") if place % 2 else part for place, part in enumerate(parts))
            minutes = [(time_s - span.start_s) / 60 for time_s, _ in each["values"]]
            found.append(Line(name.strip(), minutes, [float(value) for _, value in each["values"]], labels))
    return found


def _lines(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    stacked = defaults["custom"].get("stacking", {}).get("mode") == "normal"
    base: dict[float, float] = {}
    for number, line in enumerate(_series(panel, prometheus, span)):
        colour = _fixed_colour(panel, line.name) or _PALETTE[number % len(_PALETTE)]
        name = shorten(line.name, 34, placeholder="…") if number < _LEGEND else None
        below = (
            [base.get(round(minute, 3), 0.0) for minute in line.minutes]
            if stacked
            else [0.0] * len(line.values)
        )
        tops = [low + value for low, value in zip(below, line.values, strict=True)]
        axes.plot(line.minutes, tops, color=colour, linewidth=1.1, label=name)
        axes.fill_between(
            line.minutes, below, tops, color=colour, alpha=0.4 if stacked else 0.06, linewidth=0
        )
        base.update({round(minute, 3): top for minute, top in zip(line.minutes, tops, strict=True)})
    top = defaults.get("max") or max(axes.get_ylim()[1], 1e-9)
    for step in (
        defaults.get("thresholds", {}).get("steps", []) if "thresholdsStyle" in defaults["custom"] else []
    ):
        if step["value"] is not None and step["value"] <= top:
            axes.axhline(step["value"], color=COLOURS[step["color"]], linestyle="--", linewidth=0.9)
    axes.set_ylim(0, top)
    _time_axis(axes, span)
    axes.yaxis.set_major_formatter(axis_format(defaults["unit"]))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.12), fontsize=6.5, ncols=4, frameon=False,
                    handlelength=1, columnspacing=1, borderpad=0)  # fmt: skip


def _stat(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    now = Span(span.end_s - 1, span.end_s)
    lines = _series(panel, prometheus, now)
    value = lines[0].values[-1] if lines else None
    colour = "#9fa7b3"
    for step in defaults["thresholds"]["steps"] if value is not None else []:
        if step["value"] is None or (value is not None and value >= step["value"]):
            colour = COLOURS[step["color"]]
    axes.set_facecolor(colour)
    axes.set_xticks([])
    axes.set_yticks([])
    said = defaults["noValue"] if value is None else text_of(value, defaults["unit"])
    axes.text(0.5, 0.48, said, ha="center", va="center", color="white", fontsize=19, weight="bold",
              transform=axes.transAxes)  # fmt: skip


def _heatmap(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    lines = sorted(_series(panel, prometheus, span), key=lambda line: float(line.labels["le"]))
    below = [0.0] * (_STEPS + 1)
    cells = []
    for line in lines:
        total = [0.0] * (_STEPS + 1)
        for minute, value in zip(line.minutes, line.values, strict=True):
            total[min(_STEPS, round(minute * 60 / span.step_s))] = value
        cells.append([max(0.0, here - less) or float("nan") for here, less in zip(total, below, strict=True)])
        below = total
    minutes = [step * span.step_s / 60 for step in range(_STEPS + 1)]
    if cells:
        axes.pcolormesh(minutes, list(range(len(cells))), cells, cmap="Blues", shading="nearest", vmin=0)
        names = [
            text_of(float(line.labels["le"]), panel["fieldConfig"]["defaults"]["unit"]) for line in lines
        ]
        axes.set_yticks(range(len(lines)), names, fontsize=6)
    _time_axis(axes, span)


def _states(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    words = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    lines = _series(panel, prometheus, span)
    for row, line in enumerate(lines):
        for minute, value in zip(line.minutes, line.values, strict=True):
            colour = COLOURS[words[f"{value:.0f}"]["color"]]
            axes.broken_barh([(minute, span.step_s / 60 * 1.1)], (row - 0.35, 0.7), color=colour, linewidth=0)
    axes.set_yticks(range(len(lines)), [line.name for line in lines], fontsize=7)
    said = "   ".join(f"{COLOURS_WORDS[each['color']]} {each['text']}" for each in words.values())
    axes.set_xlabel(said, fontsize=7, loc="left")
    _time_axis(axes, span)


def _table(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    (renamed,) = [each["options"] for each in panel["transformations"]]
    columns = sorted(
        (name for name in renamed["indexByName"] if name != "Value"), key=renamed["indexByName"].get
    )
    lines = sorted(
        _series(panel, prometheus, Span(span.end_s - 1, span.end_s)), key=lambda line: -line.values[-1]
    )
    cells = [[*(line.labels[name] for name in columns), f"{line.values[-1]:g}"] for line in lines]
    axes.axis("off")
    heads = [*columns, renamed["renameByName"]["Value"]]
    table = axes.table(cells or [["none"] * len(heads)], colLabels=heads, loc="upper left", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    for spot, cell in table.get_celld().items():
        cell.set_linewidth(0.3)
        cell.get_text().set_color("#3274d9" if spot[0] else "black")


def _time_axis(axes: Axes, span: Span) -> None:
    axes.set_xlim(0, (span.end_s - span.start_s) / 60)
    axes.tick_params(labelsize=7, length=2)
    axes.xaxis.set_major_formatter(lambda minute, _: f"{minute:g} min")
    axes.grid(True, linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _fixed_colour(panel: Json, name: str) -> str | None:
    for override in panel["fieldConfig"].get("overrides", []):
        if re.fullmatch(override["matcher"]["options"], name):
            return COLOURS[override["properties"][0]["value"]["fixedColor"]]
    return None


COLOURS_WORDS = {"green": "green:", "red": "red:", "orange": "orange:"}
_MARGINS = {
    "stat": (0.12, 0.12, 1.0, 0.25),
    "timeseries": (0.75, 0.25, 1.0, 1.9),
    "heatmap": (0.75, 0.25, 1.0, 0.9),
    "state-timeline": (1.05, 0.25, 1.0, 1.5),
    "table": (0.2, 0.2, 1.2, 0.4),
}
_DRAWERS = {
    "stat": _stat,
    "timeseries": _lines,
    "heatmap": _heatmap,
    "state-timeline": _states,
    "table": _table,
}
