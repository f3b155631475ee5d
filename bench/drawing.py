"""A dashboard drawn by matplotlib, roughly as Grafana lays it out, from its panels' own queries."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from bench import drawing_panels
from bench.drawing_series import Json, Span
from bench.drawing_units import title_unit
from tests.prometheus import Asked

mpl.use("agg")

_INCHES_X, _INCHES_Y = 0.72, 0.34


def draw(board: Json, prometheus: Asked, span: Span, path: Path) -> None:
    """Write a dashboard as a PNG."""
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"])
    figure = Figure(figsize=(24 * _INCHES_X, height * _INCHES_Y), facecolor="#f4f5f5")
    marks = _marks(board, prometheus, span)
    for panel in board["panels"]:
        spot = panel["gridPos"]
        if panel["type"] == "row":
            figure.text(0.006, 1 - (spot["y"] + 0.75) / height, panel["title"], fontsize=11, weight="bold")
            continue
        pad_left, pad_right, pad_top, pad_bottom = _MARGINS[panel["type"]]
        left, bottom = (spot["x"] + pad_left) / 24, 1 - (spot["y"] + spot["h"] - pad_bottom) / height
        width, tall = (spot["w"] - pad_left - pad_right) / 24, (spot["h"] - pad_top - pad_bottom) / height
        axes = figure.add_axes((left, bottom, width, tall))
        axes.set_title(_title(panel), fontsize=9, loc="left", weight="bold")
        _DRAWERS[panel["type"]](axes, panel, prometheus, span)
        for minute, colour in marks if panel["type"] == "timeseries" else ():
            axes.axvline(minute, color=colour, linestyle=":", linewidth=1)
    figure.savefig(path, dpi=80)
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)


def _marks(board: Json, prometheus: Asked, span: Span) -> list[tuple[float, str]]:
    """When each of the annotations' series begins, and its colour."""
    marks = []
    for annotation in board["annotations"]["list"]:
        expr = annotation["target"]["expr"]
        for each in prometheus.over_time(expr, span.start_s, span.end_s, span.step_s):
            marks.append(((each["values"][0][0] - span.start_s) / 60, annotation["iconColor"]))
    return marks


def _title(panel: Json) -> str:
    unit = title_unit(panel["fieldConfig"]["defaults"]["unit"])
    return str(panel["title"]) + (f" ({unit})" if unit and panel["type"] == "timeseries" else "")


_MARGINS = {
    "stat": (0.12, 0.12, 1.0, 0.25),
    "timeseries": (0.95, 0.4, 1.0, 1.9),
    "heatmap": (0.95, 0.4, 1.0, 0.9),
    "state-timeline": (1.1, 0.4, 1.0, 1.5),
    "table": (0.2, 0.2, 1.2, 0.4),
}
_DRAWERS = {
    "stat": drawing_panels.stat,
    "timeseries": drawing_panels.lines,
    "heatmap": drawing_panels.heatmap,
    "state-timeline": drawing_panels.states,
    "table": drawing_panels.table,
}
