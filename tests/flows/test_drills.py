"""A drill from end to end: the service breaks, someone is told, and told again when it is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.drills.faults import DRILLS
from bench.drills.run import perform
from bench.drills.site import Site


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_when_all_workers_are_killed_someone_is_told_and_told_again_when_they_are_back(folder: Path) -> None:
    with Site(folder, bounded=False) as site:
        (outcome,) = perform(site, "kill-workers", DRILLS["kill-workers"])
    assert outcome.alert == "NoWorkersAlive"
    assert outcome.good, outcome
