"""Every setting and every metric stands in the docs."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from config import Settings
from observability.children import ChildrenCollector
from observability.metrics import (
    HttpMetrics,
    PhotoMetrics,
    RemoteMetrics,
    StoreMetrics,
    StreamMetrics,
    TaskMetrics,
    process_registry,
)
from observability.pipeline import PipelineCollector
from photos.kinds import ERROR_TYPES, KINDS
from storage.store import OPERATIONS
from tasks.figures import DEPTH_STATES, Figures

DOCS = Path(__file__).parent.parent / "docs"


def names_in(page: str, pattern: str) -> set[str]:
    """What of a form a page of the docs names."""
    return set(re.findall(pattern, (DOCS / page).read_text()))


def exported() -> set[str]:
    """The names of all metrics, as Prometheus sees them."""
    registry = process_registry(version="", revision="")
    registry.register(ChildrenCollector())
    HttpMetrics(registry)
    PhotoMetrics(registry)
    RemoteMetrics(registry)
    StoreMetrics(registry, operations=OPERATIONS)
    StreamMetrics(registry)
    TaskMetrics(registry, kinds=KINDS, error_types=ERROR_TYPES)
    registry.register(
        PipelineCollector(
            lambda: Figures({}, {}, {}, frozenset(), 0),
            list,
            {},
            lambda: 1,
            kinds=KINDS,
            depth_states=DEPTH_STATES,
            error_types=ERROR_TYPES,
        )
    )
    names = {family.name + ("_total" if family.type == "counter" else "") for family in registry.collect()}
    return {name for name in names if name.startswith("safelight_")}


@pytest.mark.parametrize("setting", [f"SAFELIGHT_{each.name.upper()}" for each in fields(Settings)])
def test_every_setting_is_in_the_docs(setting: str) -> None:
    assert setting in names_in("settings.md", r"SAFELIGHT_[A-Z_]+")


def test_the_docs_name_no_setting_that_is_not_read() -> None:
    of_make_run = {"SAFELIGHT_HOME", "SAFELIGHT_PROMETHEUS_PORT"}
    known = {f"SAFELIGHT_{each.name.upper()}" for each in fields(Settings)} | of_make_run
    assert names_in("settings.md", r"(?m)^\| `(SAFELIGHT_[A-Z_]+)`") <= known


@pytest.mark.parametrize("metric", sorted(exported()))
def test_every_metric_is_in_the_docs(metric: str) -> None:
    assert metric in names_in("observability.md", r"safelight_[a-z_]+")


def test_the_docs_name_no_metric_that_is_not_exported() -> None:
    assert names_in("observability.md", r"(?m)`(safelight_[a-z_]+)`") <= exported()


@pytest.mark.parametrize("code", sorted(ERROR_TYPES))
def test_every_type_of_error_is_in_the_docs(code: str) -> None:
    assert f"`{code}`" in (DOCS / "errors.md").read_text()


def test_every_code_of_an_http_error_is_in_the_docs() -> None:
    api = DOCS.parent / "api"
    found = {
        code for path in api.glob("*.py") for code in re.findall(r'\b[45]\d\d, "([a-z-]+)"', path.read_text())
    }
    assert "empty-upload" in found
    assert found <= names_in("errors.md", r"`([a-z-]+)`")
