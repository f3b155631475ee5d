"""A Docker of the tests' own, with images made of Debian's packages: no registry is asked for anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from embedded import processes

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build" / "deploy"
BASE = "safelight-tests/debian:bookworm"
_TOOLS = ("dockerd", "docker-compose", "debootstrap", "iptables")
_DOCKER = "/usr/bin/docker"  # Debian's: other things are called so too
# What this machine has pip and TLS set up with goes into the base, so that the build finds its packages.
_SET_UP = ("/etc/pip.conf", "/etc/xdg/pip", "/etc/ssl/certs/ca-certificates.crt")
_STAND_INS = ("postgres", "redis", "prometheus", "alertmanager", "grafana")
# A table that nobody has used isn't saved.
_UNTOUCHED = {
    "filter": "*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n",
    "nat": "*nat\n:PREROUTING ACCEPT\n:INPUT ACCEPT\n:OUTPUT ACCEPT\n:POSTROUTING ACCEPT\nCOMMIT\n",
}


def missing() -> str:
    """What keeps these tests from running here; empty if nothing does."""
    if os.geteuid():
        return "they need root"
    lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if not Path(_DOCKER).exists():
        lacking.append(_DOCKER)
    return f"missing: {', '.join(lacking)} (Debian: docker.io docker-compose debootstrap)" if lacking else ""


class Docker:
    """A dockerd over a folder, and the commands to it."""

    def __init__(self, folder: Path) -> None:
        self.host = f"unix://{folder}/docker.sock"
        self._folder = folder

    def run(self, *command: str, **options: Any) -> str:
        """One `docker` command; gives what it said."""
        return _run([_DOCKER, "-H", self.host, *command], **options)

    def compose(self, *command: str, folder: Path, **variables: str) -> str:
        """One `docker-compose` command in a folder."""
        environment = {**os.environ, "DOCKER_HOST": self.host, **variables}
        return _run(["docker-compose", "--project-name", "safelight", *command], cwd=folder, env=environment)


@contextmanager
def docker(folder: Path) -> Iterator[Docker]:
    """Run dockerd; on the way out it ends, and the packet filter is again as it was before."""
    saved = _run(["iptables-save"])
    rules = saved + "".join(text for table, text in _UNTOUCHED.items() if f"*{table}\n" not in saved)
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    command += ["--bridge", "none", "--pidfile", f"{folder}/pid", "--host", f"unix://{folder}/docker.sock"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        socket = folder / "docker.sock"
        ready = processes.settles(lambda: socket.exists() or process.poll() is not None, timeout_s=60)
        assert ready, (folder / "log").read_text()[-2000:]
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        yield Docker(folder)
    finally:
        process.terminate()
        process.wait(60)
        # dockerd leaves this mount, and with it the folder.
        subprocess.run(["umount", f"{folder}/exec/netns/default"], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["iptables-restore"], input=rules, text=True, check=True)


def make_images(docker: Docker) -> None:
    """Build the service's image, and stand-ins under the names that docker-compose.yml has."""
    base = BUILD / "base"
    if not (base / "usr" / "bin" / "python3").exists():
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(parents=True, exist_ok=True)
        packages = "--include=ca-certificates,python3,python3-venv"
        _run(["debootstrap", "--variant=minbase", packages, "bookworm", str(base)])
    for name in (*_SET_UP, *_folders_of_pip()):
        if Path(name).exists():
            (base / name[1:]).parent.mkdir(parents=True, exist_ok=True)
            _run(["cp", "-rL", name, str((base / name[1:]).parent)])
    _run(["sh", "-c", f"tar -C {base} -c . | {_DOCKER} -H {docker.host} import - {BASE}"])
    build = ("build", "--quiet", "--network", "host", "--build-arg", f"BASE_IMAGE={BASE}")
    docker.run(*build, "--build-arg", "REVISION=of-the-tests", "--tag", "safelight", str(ROOT))
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in _STAND_INS:
        stand_ins = str(Path(__file__).parent / "stand_ins")
        docker.run(*build, "--target", name, "--tag", services[name]["image"], stand_ins)


def _folders_of_pip() -> list[str]:
    """Where pip's settings look for packages on this machine itself."""
    told = _run([sys.executable, "-m", "pip", "config", "list"])
    words = re.split(r"[\s'\"=]", told.replace("file://", ""))
    return [word for word in words if word.startswith("/") and Path(word).is_dir()]


def _run(command: list[str], **options: Any) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=1200,
        **options,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}"
    return str(done.stdout)
