"""supervisord's configuration, written from a list of programs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """One supervised program.

    Args:
        command: its arguments.
        stage: programs of a stage stop together; a higher stage is stopped before a lower one.
        stop_signal: asks its main process to end; that one passes it on as it sees fit.
        stop_s: after these, its process group is killed.
    """

    name: str
    command: Sequence[str]
    stage: int
    stop_signal: str = "TERM"
    stop_s: int = 10

    @property
    def group(self) -> str:
        return f"stage{self.stage}"


def configuration(socket: Path, folder: Path, working_folder: Path, programs: Sequence[Program]) -> str:
    """The text of `supervisord.conf`. Nothing in it starts by itself.

    Log files are named relative to supervisord's own working folder, `<program>.log`: supervisord expands
    their paths twice, and others once, so that no way of writing a percent sign would suit both.
    """
    sections: dict[str, dict[str, object]] = {
        "unix_http_server": {"file": socket, "chmod": "0700"},
        "supervisord": {
            "logfile": "supervisord.log",
            "logfile_maxbytes": "5MB",
            "logfile_backups": 1,
            "pidfile": folder / "supervisord.pid",
            "nodaemon": "true",
            "silent": "true",
            # without it, supervisord warns that it runs as root
            **({"user": "root"} if os.geteuid() == 0 else {}),
        },
        "rpcinterface:supervisor": {
            "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
        },
    }
    for program in programs:
        sections[f"program:{program.name}"] = _program(program, working_folder)
    by_stage = attrgetter("stage")
    for stage, members in groupby(sorted(programs, key=by_stage), key=by_stage):
        sections[f"group:stage{stage}"] = {
            "programs": ",".join(member.name for member in members),
            "priority": stage,
        }
    return "\n".join(_section(name, values) for name, values in sections.items())


def _program(program: Program, working_folder: Path) -> dict[str, object]:
    return {
        "command": shlex.join(program.command),
        "directory": working_folder,
        "autostart": "false",
        # One that ends within 5 s is tried again after 1 and 2 s, then it is FATAL. At the first start that
        # is the end; later whoever watches starts it anew, so pauses stay short however long it takes.
        "startsecs": 5,
        "startretries": 2,
        "autorestart": "true",
        "stopsignal": program.stop_signal,
        "stopwaitsecs": program.stop_s,
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": f"{program.name}.log",
        "stdout_logfile_maxbytes": "10MB",
        "stdout_logfile_backups": 3,
    }


def _section(name: str, values: dict[str, object]) -> str:
    # a percent sign would begin an expansion
    lines = [f"{key}={str(value).replace('%', '%%')}" for key, value in values.items()]
    return "\n".join([f"[{name}]", *lines, ""])
