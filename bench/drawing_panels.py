"""One function for each type of panel: it draws what Grafana would show of the same queries."""

from __future__ import annotations

import re

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.drawing_series import STEPS, Json, Span, series
from bench.drawing_units import axis_format, text_of
from tests.prometheus import Asked

COLOURS = {"green": "#56a64b", "orange": "#ff9830", "red": "#e02f44", "blue": "#3274d9", "yellow": "#f2cc0c"}
_PALETTE = ("#3274d9", "#56a64b", "#ff9830", "#a352cc", "#e02f44", "#37872d", "#6ed0e0", "#b8860b", "#8f3bb8")
_LEGEND = 8


def lines(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    stacked = defaults["custom"].get("stacking", {}).get("mode") == "normal"
    base: dict[float, float] = {}
    for number, line in enumerate(series(panel, prometheus, span)):
        colour = _fixed_colour(panel, line.name) or _PALETTE[number % len(_PALETTE)]
        name = line.name[:38] if number < _LEGEND else None
        below = (
            [base.get(round(minute, 3), 0.0) for minute in line.minutes]
            if stacked
            else [0.0] * len(line.values)
        )
        tops = [low + value for low, value in zip(below, line.values, strict=True)]
        if stacked:
            axes.fill_between(line.minutes, below, tops, color=colour, alpha=0.7, linewidth=0, label=name)
        else:
            axes.plot(line.minutes, tops, color=colour, linewidth=1.1, label=name)
            axes.fill_between(line.minutes, below, tops, color=colour, alpha=0.06, linewidth=0)
        base.update({round(minute, 3): top for minute, top in zip(line.minutes, tops, strict=True)})
    top = defaults.get("max") or max(axes.get_ylim()[1], 1e-9)
    for step in (
        defaults.get("thresholds", {}).get("steps", []) if "thresholdsStyle" in defaults["custom"] else []
    ):
        if step["value"] is not None and step["value"] <= top:
            axes.axhline(step["value"], color=COLOURS[step["color"]], linestyle="--", linewidth=0.9)
    axes.set_ylim(-0.02 * top, top * 1.02)
    _time_axis(axes, span)
    axes.yaxis.set_major_formatter(axis_format(defaults["unit"]))
    names = axes.get_legend_handles_labels()[1]
    if names:
        columns = max(1, min(4, 12 * panel["gridPos"]["w"] // (max(map(len, names)) + 6)))
        axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.12), fontsize=6.5, ncols=columns,
                    frameon=False, handlelength=1, columnspacing=1, borderpad=0)  # fmt: skip


def stat(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    now = Span(span.end_s - 1, span.end_s)
    lines = series(panel, prometheus, now)
    value = lines[0].values[-1] if lines else None
    colour = "#9fa7b3"
    for step in defaults["thresholds"]["steps"] if value is not None else []:
        if step["value"] is None or (value is not None and value >= step["value"]):
            colour = COLOURS[step["color"]]
    axes.set_facecolor(colour)
    axes.set_xticks([])
    axes.set_yticks([])
    said = defaults["noValue"] if value is None else text_of(value, defaults["unit"])
    size = 19 if len(said) < 9 else 14
    axes.text(0.5, 0.48, said, ha="center", va="center", color="white", fontsize=size, weight="bold",
              transform=axes.transAxes)  # fmt: skip


def heatmap(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    lines = sorted(series(panel, prometheus, span), key=lambda line: float(line.labels["le"]))
    below = [0.0] * (STEPS + 1)
    cells = []
    for line in lines:
        total = [0.0] * (STEPS + 1)
        for minute, value in zip(line.minutes, line.values, strict=True):
            total[min(STEPS, round(minute * 60 / span.step_s))] = value
        cells.append([max(0.0, here - less) or float("nan") for here, less in zip(total, below, strict=True)])
        below = total
    minutes = [step * span.step_s / 60 for step in range(STEPS + 1)]
    if cells:
        axes.pcolormesh(minutes, list(range(len(cells))), cells, cmap="Blues", shading="nearest", vmin=0)
        names = [
            text_of(float(line.labels["le"]), panel["fieldConfig"]["defaults"]["unit"]) for line in lines
        ]
        axes.set_yticks(range(len(lines)), names, fontsize=6)
    _time_axis(axes, span)


def states(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    words = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    lines = series(panel, prometheus, span)
    for row, line in enumerate(lines):
        for minute, value in zip(line.minutes, line.values, strict=True):
            colour = COLOURS[words[f"{value:.0f}"]["color"]]
            axes.broken_barh([(minute, span.step_s / 60 * 1.1)], (row - 0.35, 0.7), color=colour, linewidth=0)
    axes.set_yticks(range(len(lines)), [line.name for line in lines], fontsize=7)
    said = "   ".join(f"{each['color']}: {each['text']}" for each in words.values())
    axes.set_xlabel(said, fontsize=7, loc="left")
    _time_axis(axes, span)


def table(axes: Axes, panel: Json, prometheus: Asked, span: Span) -> None:
    (renamed,) = [each["options"] for each in panel["transformations"]]
    columns = sorted(
        (name for name in renamed["indexByName"] if name != "Value"), key=renamed["indexByName"].get
    )
    lines = sorted(
        series(panel, prometheus, Span(span.end_s - 1, span.end_s)), key=lambda line: -line.values[-1]
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
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.tick_params(labelsize=7, length=2)
    axes.xaxis.set_major_formatter(lambda minute, _: f"{minute:g} min")
    axes.grid(True, linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _fixed_colour(panel: Json, name: str) -> str | None:
    for override in panel["fieldConfig"].get("overrides", []):
        if re.fullmatch(override["matcher"]["options"], name):
            colour: str = override["properties"][0]["value"]["fixedColor"]
            return COLOURS[colour]
    return None
