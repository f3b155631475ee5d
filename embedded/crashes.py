"""Notice crashes while everything runs: tell, clean up after them, and never let the supervisor give up."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from embedded.supervisor import Supervisor


class Crashes:
    """Tells a person what crashed since the last look; supervisord restarts by itself."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._seen = supervisor.states()
        self._down: set[str] = set()

    def look(self) -> list[str]:
        """Say what crashed since the last look and what came back, a line each; a crash loop is told once.

        A main process that was killed leaves its children to go on (Dramatiq's do); they are killed too.
        """
        before, self._seen = self._seen, self._supervisor.states()
        lines = []
        for name, now in self._seen.items():
            if before[name].pid not in (0, now.pid):
                # supervisord makes each program the leader of a process group
                with suppress(ProcessLookupError):
                    os.killpg(before[name].pid, signal.SIGKILL)
                if name not in self._down:
                    self._down.add(name)
                    lines.append(f"{name} crashed and is started again; see {self._supervisor.log(name)}")
            elif now.name == "RUNNING" and name in self._down:
                self._down.remove(name)
                lines.append(f"{name} is up again.")
            elif now.name == "FATAL":
                self._supervisor.start(name)
        return lines

    def restart(self, name: str) -> None:
        """Restart a program on purpose, which is no crash."""
        self._supervisor.restart(name)
        self._seen = self._supervisor.states()
        self._down.discard(name)
