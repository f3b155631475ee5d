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

    def look(self) -> list[str]:
        """Say what crashed since the last look, one line each.

        A main process that was killed leaves its children to go on (Dramatiq's do); they are killed too.
        """
        before, self._seen = self._seen, self._supervisor.states()
        lines = []
        for name, now in self._seen.items():
            was = before[name]
            if was.pid and was.pid != now.pid:
                with suppress(
                    ProcessLookupError
                ):  # supervisord makes each program the leader of a process group
                    os.killpg(was.pid, signal.SIGKILL)
                lines.append(f"{name} crashed and is restarted; see {self._supervisor.log(name)}")
            if now.name == "FATAL":
                self._supervisor.start(name)
        return lines
