"""A dashboard around its panels: variables, annotations, links to the others, ids and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

from grafana.panels import SOURCE, Panel, address

SOURCE_UID = "safelight-prometheus"
CONSOLE = "http://127.0.0.1:8000"
PROMETHEUS = "http://127.0.0.1:9090"
DEAD_LETTERS = "${console}/#/dead-letters"
_TAG = "safelight"
_WIDTH = 24
# A variable's values, for those that a dashboard asks for.
_VALUES = {
    "kind": ("Kind of task", "label_values(safelight_queue_depth, kind)"),
    "instance": ("Process", 'label_values(safelight_build_info{job="safelight"}, instance)'),
}


@dataclass(frozen=True)
class Board:
    """A dashboard.

    Attributes:
        variables: which of `kind` and `instance` its queries use.
        sections: by title, the panels below it, each as wide as it says.
    """

    uid: str
    title: str
    description: str
    variables: Sequence[str]
    sections: dict[str, list[Panel]]

    def build(self) -> models.Dashboard:
        """The dashboard as Grafana reads it."""
        board = dashboard.Dashboard(f"Safelight: {self.title}").uid(self.uid).description(self.description)
        board.tags([_TAG]).time("now-1h", "now").refresh("10s").timezone("browser").readonly()
        board.tooltip(models.DashboardCursorSync.CROSSHAIR)
        board.variables([_source(), *map(_choice, self.variables), *map(_hidden, ("console", "prometheus"))])
        board.annotations([_deploys(), _drills(), _alerts()]).links(_links())
        made = board.build()
        made.panels = _placed(self.sections)
        return made


def _placed(sections: dict[str, list[Panel]]) -> list[models.Panel | models.RowPanel]:
    """Panels from left to right below their section's title; ids in the order of reading."""
    placed: list[models.Panel | models.RowPanel] = []
    y = 0
    for title, panels in sections.items():
        row = dashboard.Row(title).id(len(placed) + 1).build()
        row.grid_pos = models.GridPos(x=0, y=y, w=_WIDTH, h=1)
        placed.append(row)
        x, y, height = 0, y + 1, 0
        for panel in (each.build() for each in panels):
            assert panel.grid_pos is not None
            if x + panel.grid_pos.w > _WIDTH:
                x, y, height = 0, y + height, 0
            panel.id_val = len(placed) + 1
            panel.grid_pos.x, panel.grid_pos.y = x, y
            x, height = x + panel.grid_pos.w, max(height, panel.grid_pos.h)
            placed.append(panel)
        y += height
    return placed


def _source() -> dashboard.DatasourceVariable:
    default = models.VariableOption(selected=True, text="Prometheus", value=SOURCE_UID)
    return dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus").current(default)


def _choice(name: str) -> dashboard.QueryVariable:
    label, query = _VALUES[name]
    everything = models.VariableOption(selected=True, text=["All"], value=["$__all"])
    variable = dashboard.QueryVariable(name).label(label).datasource(SOURCE).query(query).definition(query)
    variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(models.VariableSort.ALPHABETICAL_ASC)
    return variable.multi(True).include_all(True).all_value(".*").current(everything)


def _hidden(name: str) -> dashboard.TextBoxVariable:
    """The address of a server that links lead to; `?var-console=https://...` sets another one."""
    value = {"console": CONSOLE, "prometheus": PROMETHEUS}[name]
    variable = dashboard.TextBoxVariable(name).hide(models.VariableHide.HIDE_VARIABLE).default_value(value)
    return variable.current(models.VariableOption(selected=True, text=value, value=value))


def _links() -> list[Builder[models.DashboardLink]]:
    boards = dashboard.DashboardLink("Safelight").type(models.DashboardLinkType.DASHBOARDS).tags([_TAG])
    return [
        boards.keep_time(True).include_vars(True),
        address("Prometheus", "${prometheus}/alerts"),
        address("Console", "${console}/"),
    ]


def _deploys() -> dashboard.AnnotationQuery:
    builds = "count by (version, revision) (safelight_build_info{})"
    new = f"{builds.format('')} unless {builds.format(' offset 5m')}"
    return _annotation("Deploys", "blue", new, "deploy", "{{version}} {{revision}}")


def _drills() -> dashboard.AnnotationQuery:
    return _annotation(
        "Drills", "purple", "max by (drill) (safelight_drill_running) > 0", "drill", "{{drill}}"
    )


def _alerts() -> dashboard.AnnotationQuery:
    firing = 'max by (alertname, severity) (ALERTS{alertstate="firing", severity!="none"})'
    return _annotation("Alerts", "red", firing, "{{alertname}}", "{{severity}}")


def _annotation(name: str, colour: str, expr: str, title: str, text: str) -> dashboard.AnnotationQuery:
    target = prometheus.Dataquery().ref_id("Anno").datasource(SOURCE).expr(expr).range()
    annotation = dashboard.AnnotationQuery().name(name).enable(True).icon_color(colour).target(target)
    annotation.datasource(SOURCE).step("30s")
    return annotation.expr(expr).title_format(title).text_format(text)
