"""Perform one drill: break, wait for the alert, mend, wait until it is over."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.drills.faults import Drill
from bench.drills.site import Site
from embedded import processes

_FIRES_S = 180.0
_CLEARS_S = 180.0


@dataclass(frozen=True)
class Outcome:
    """How one alert of a drill did.

    Attributes:
        fires_s: from the fault to Alertmanager's notification; None: it didn't come.
        clears_s: from the mending to the notification that it is over; None: it didn't come.
        wrong: pages of the drill that weren't right.
        followed: pages that were right too.
    """

    drill: str
    alert: str
    fires_s: float | None
    clears_s: float | None
    wrong: tuple[str, ...]
    followed: tuple[str, ...]

    @property
    def good(self) -> bool:
        """The alert came and went, and no wrong page came."""
        return self.fires_s is not None and self.clears_s is not None and not self.wrong

    def __str__(self) -> str:
        line = f"{self.drill:15}{self.alert:20}{_said(self.fires_s):>12}{_said(self.clears_s):>14}"
        line += f"  with {', '.join(self.followed)}" if self.followed else ""
        return line + (f"  WRONG PAGES: {', '.join(self.wrong)}" if self.wrong else "")


def _said(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.0f} s"


def perform(site: Site, name: str, drill: Drill) -> list[Outcome]:
    """Perform a drill; an outcome for each of its alerts.

    Waits at most 3 minutes for them to fire, and 3 for them to clear.
    """
    begun_s = time.monotonic()
    with site.drill(name):
        with drill.fault(site):
            broken_s = time.monotonic()
            fired = _wait(site, drill, firing=True, since_s=begun_s, timeout_s=_FIRES_S)
        mended_s = time.monotonic()
        # One may have cleared by itself while another was waited for.
        cleared = _wait(site, drill, firing=False, since_s=broken_s, timeout_s=_CLEARS_S)
    right = {alert["alertname"] for alert in drill.alerts}
    paged = site.pager.fired("page", since_s=begun_s) - right
    wrong, followed = tuple(sorted(paged - drill.follows)), tuple(sorted(paged & drill.follows))
    return [
        Outcome(
            name,
            alert["alertname"],
            None if fires_s is None else fires_s - begun_s,
            None if clears_s is None else max(0.0, clears_s - mended_s),
            wrong,
            followed,
        )
        for alert, fires_s, clears_s in zip(drill.alerts, fired, cleared, strict=True)
    ]


def _wait(site: Site, drill: Drill, *, firing: bool, since_s: float, timeout_s: float) -> list[float | None]:
    """When the pager was told of each of a drill's alerts; None of those that didn't come in time."""

    def when(alert: Mapping[str, str]) -> float | None:
        notice = site.pager.first(alert, firing=firing, since_s=since_s)
        return notice.at_s if notice else None

    processes.settles(lambda: all(when(alert) is not None for alert in drill.alerts), timeout_s=timeout_s)
    return [when(alert) for alert in drill.alerts]
