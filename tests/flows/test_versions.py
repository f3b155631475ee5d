"""Given an upgrade under way, when old and new processes run side by side, then all work goes on."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import Settings
from embedded import processes
from tests.flows.farm import Farm
from tests.pictures import jpeg
from tests.stack import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def _version(source: Path) -> str:
    found: str = tomllib.loads((source / "pyproject.toml").read_text())["project"]["version"]
    return found


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The version before this one: the source as it was before the last change of the version's number."""
    try:
        changed = _git("log", "-1", "--format=%H", "-G^version = ", "--", "pyproject.toml").decode().strip()
        archive = _git("archive", f"{changed}^")
    except (OSError, subprocess.CalledProcessError):
        if os.environ.get("CI"):
            raise
        pytest.skip("there is no history here")
    folder = tmp_path_factory.mktemp("previous")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    assert _version(folder) != _version(ROOT)
    return folder


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    """Servers with this version's schema; API and worker are started by the test."""
    with Farm(tmp_path, workers=0) as farm:
        yield farm


def test_the_version_is_the_same_wherever_it_is_told() -> None:
    assert Settings.version == _version(ROOT)
    assert f"ARG VERSION={_version(ROOT)}\n" in (ROOT / "Dockerfile").read_text()
    assert f"VERSION:-{_version(ROOT)}}}\n" in (ROOT / "docker-compose.yml").read_text()


def _settle(farm: Farm, ids: list[str]) -> dict[str, int]:
    """Have all done; what waits for previews to take it along, which old workers don't, has waited enough."""
    previews = "SELECT FROM tasks WHERE kind = 'preview' AND state IN ('pending', 'queued', 'processing')"
    assert processes.settles(lambda: not farm.query(previews), timeout_s=90)
    farm.query("UPDATE tasks SET run_at = now() WHERE state = 'pending' AND token = 0 RETURNING id")
    return farm.settle(ids)


@pytest.mark.parametrize(
    ("api_is_new", "workers_are_new"), [(True, [False]), (False, [True]), (True, [True, False])]
)
def test_old_and_new_processes_work_side_by_side(
    farm: Farm, previous: Path, api_is_new: bool, workers_are_new: list[bool]
) -> None:
    if not api_is_new:
        farm.stop("api")
        farm.start("api", "gunicorn", "app:create_app()", source=previous)
    farm.workers = [f"worker-{number}" for number in range(len(workers_are_new))]
    for name, new in zip(farm.workers, workers_are_new, strict=True):
        farm.start_worker(name, ROOT if new else previous)
    farm.wait_until_ready()
    key = farm.key("anna")
    ids = farm.upload_all([jpeg(1600, 1200, seed=seed) for seed in range(12)], key)
    assert _settle(farm, ids) == {"ready": 12, "failed": 0}
    photo = farm.get(f"/v1/photos/{ids[0]}", key).json
    assert farm.get(photo["previews"][0]["url"], key).status == 200
    assert farm.ask("POST", f"/v1/photos/{ids[0]}/reprocess", headers=key).status == 202
    assert _settle(farm, ids) == {"ready": 12, "failed": 0}
    assert farm.ask("DELETE", f"/v1/photos/{ids[0]}", headers=key).status == 204
    assert not farm.unexpected()
