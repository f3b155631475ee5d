"""Panels as this project draws them: data source by variable, y axis from 0, short legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from grafana_foundation_sdk.builders import common, dashboard, heatmap, prometheus, stat, statetimeline, table
from grafana_foundation_sdk.builders import timeseries as graph
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmap_options
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = options.DataSourceRef(type_val="prometheus", uid="${datasource}")
Panel = Builder[models.Panel]
Steps = Sequence[tuple[float | None, str]]
_P = TypeVar("_P", graph.Panel, stat.Panel, heatmap.Panel, table.Panel, statetimeline.Panel)


@dataclass(frozen=True)
class Query:
    """One query of a panel, and what its series are called: `{{label}}` stands for a label's value."""

    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Text:
    """What a panel says of itself.

    Attributes:
        good: what it shows when all is well.
        unit: Grafana's name of it, such as `s`, `bytes`, `reqps`; `suffix:X` is a unit of our own.
    """

    title: str
    what: str
    good: str
    unit: str


def lines(
    text: Text,
    *queries: Query,
    width: int = 8,
    limits: Steps = (),
    stacked: bool = False,
    top: float | None = None,
    below_zero: bool = False,
    colours: dict[str, str] | None = None,
) -> Panel:
    """Lines over time.

    Args:
        limits: thresholds, drawn as dashed lines.
        top: the axis' end, if it has one.
        below_zero: whether the axis goes there when the values do.
        colours: by the name of the series.
    """
    panel = _with(graph.Panel(), text, width, 8, *queries).line_width(0 if stacked else 1)
    panel.fill_opacity(70 if stacked else 8).show_points(options.VisibilityMode.NEVER)
    panel.legend(_legend(len(queries))).tooltip(_tooltip())
    if stacked:
        panel.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL).group("A"))
    panel.axis_soft_min(0) if below_zero else panel.min(0)
    if top is not None:
        panel.max(top)
    if limits:
        dashed = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
        panel.thresholds(_thresholds(limits)).thresholds_style(dashed)
    for name, colour in (colours or {}).items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        panel.override_by_regexp(name, [models.DynamicConfigValue("color", fixed)])
    return panel


def figure(
    text: Text,
    query: Query,
    *,
    limits: Steps,
    width: int = 3,
    words: dict[str, tuple[str, str]] | None = None,
    link: Builder[models.DashboardLink] | None = None,
) -> Panel:
    """The newest value, large, on the colour of its threshold.

    Args:
        words: by value, what to write instead and in which colour.
    """
    panel = _with(stat.Panel(), text, width, 4, query).thresholds(_thresholds(limits)).no_value("none yet")
    panel.color_mode(options.BigValueColorMode.BACKGROUND_SOLID).graph_mode(options.BigValueGraphMode.NONE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if words:
        panel.mappings([_words(words)])
    if link:
        panel.data_links([link])
    return panel


def density(text: Text, query: Query, *, width: int = 8) -> Panel:
    """How many observations fell into each bucket of a histogram, over time."""
    panel = _with(heatmap.Panel(), text, width, 8, query, form=PromQueryFormat.HEATMAP)
    panel.calculate(False).cell_gap(1).cell_values(heatmap.CellValues().decimals(0))
    panel.y_axis(heatmap.YAxisConfig().unit(text.unit)).filter_values(heatmap.FilterValueRange().le(1e-9))
    return panel.color(
        heatmap.HeatmapColorOptions()
        .mode(heatmap_options.HeatmapColorMode.SCHEME)
        .scheme("Blues")
        .steps(32)
        .scale(heatmap_options.HeatmapColorScale.EXPONENTIAL)
        .exponent(0.5)
    )


def states(text: Text, query: Query, *, words: dict[str, tuple[str, str]], width: int = 8) -> Panel:
    """What something was, over time: a bar that changes its colour."""
    panel = _with(statetimeline.Panel(), text, width, 8, query).mappings([_words(words)])
    panel.show_value(options.VisibilityMode.NEVER).merge_values(True).row_height(0.7).fill_opacity(80)
    return panel.legend(_legend(1))


def rows(text: Text, query: Query, *, columns: Sequence[str], value: str, width: int, link: str) -> Panel:
    """A table of the newest values: a column for each label, and one for the value, with a link.

    Args:
        link: its address; `${__data.fields.LABEL}` stands for a label of the row.
    """
    panel = _with(table.Panel(), text, width, 8, query, form=PromQueryFormat.TABLE).no_value("none")
    names = {"excludeByName": {"Time": True}, "renameByName": {"Value": value}}
    places = {name: place for place, name in enumerate((*columns, "Value"))}
    panel.with_transformation(
        models.DataTransformerConfig("organize", options={**names, "indexByName": places})
    )
    panel.sort_by([common.TableSortByFieldState().display_name(value).desc(True)])
    return panel.data_links([address(f"Open {text.title.lower()} in the console", link)])


def address(title: str, url: str) -> dashboard.DashboardLink:
    """A link to a place outside Grafana, opened beside it."""
    return dashboard.DashboardLink(title).type(models.DashboardLinkType.LINK).url(url).target_blank(True)


def _with(
    panel: _P, text: Text, width: int, height: int, *queries: Query, form: PromQueryFormat | None = None
) -> _P:
    panel.title(text.title).description(f"{text.what} Good: {text.good}").unit(text.unit)
    panel.datasource(SOURCE).span(width).height(height)
    for letter, query in zip("ABCDEFGH", queries, strict=False):
        target = prometheus.Dataquery().datasource(SOURCE).ref_id(letter).expr(query.expr)
        target.legend_format(query.legend).exemplar(form is PromQueryFormat.HEATMAP)
        newest_only = isinstance(panel, (stat.Panel, table.Panel))
        panel.with_target((target.instant() if newest_only else target.range()).format(form or _SERIES))
    return panel


_SERIES = PromQueryFormat.TIME_SERIES


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    """The first step's value is None: from there down."""
    made = [models.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(made)


def _words(words: dict[str, tuple[str, str]]) -> models.ValueMap:
    results = {
        value: models.ValueMappingResult(text=text, color=colour, index=index)
        for index, (value, (text, colour)) in enumerate(words.items())
    }
    return models.ValueMap(options=results)


def _legend(queries: int) -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(True).display_mode(options.LegendDisplayMode.LIST)
    return legend.placement(options.LegendPlacement.BOTTOM).calcs(["lastNotNull"] if queries > 1 else [])


def _tooltip() -> common.VizTooltipOptions:
    return (
        common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)
    )
