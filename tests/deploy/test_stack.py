"""The stack in containers, for `make test-docker`: photos become ready, killed containers come back."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from embedded.ports import answers, any_free_port
from tests.deploy import machine
from tests.deploy.machine import ROOT, Docker
from tests.http import Answer, ask
from tests.pictures import MAKE, jpeg
from tests.waiting import until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(bool(machine.missing()), reason=machine.missing() or "all is there"),
]
PORTS = ("API_PORT", "PROMETHEUS_PORT", "ALERTMANAGER_PORT", "GRAFANA_PORT")
_UP_S = 240


class Containers:
    """The stack, up."""

    def __init__(self, docker: Docker, folder: Path) -> None:
        self.docker = docker
        self.folder = folder
        self.ports = {name: any_free_port() for name in PORTS}
        self.key: dict[str, str] = {}

    def compose(self, *command: str) -> str:
        """One `docker-compose` command."""
        ports = {name: str(port) for name, port in self.ports.items()}
        return self.docker.compose(*command, folder=self.folder, **ports)

    def up(self) -> None:
        """Start all, with two workers, and make a key."""
        self.compose("up", "--detach", "--no-build", "--scale", "worker=2")
        until(lambda: answers(self.ports["API_PORT"], "/readyz"), timeout_s=_UP_S)
        create = ("flask", "--app", "app", "keys", "create", "--owner", "me", "--scope", "admin")
        self.key = {"Authorization": f"Bearer {self.compose('exec', '-T', 'api', *create).split()[-1]}"}

    def ask(self, method: str, path: str, **options: Any) -> Answer:
        """One request to the API with the key."""
        headers = {**self.key, **options.pop("headers", {})}
        return ask(self.ports["API_PORT"], method, path, headers=headers, **options)

    def ready(self, photo_id: str, timeout_s: float = 90) -> dict[str, Any]:
        """The photo, once it is ready."""
        until(lambda: self.ask("GET", f"/v1/photos/{photo_id}").json["state"] == "ready", timeout_s=timeout_s)
        photo: dict[str, Any] = self.ask("GET", f"/v1/photos/{photo_id}").json
        return photo

    def of(self, service: str) -> list[str]:
        """The ids of a service's containers."""
        label = f"label=com.docker.compose.service={service}"
        return self.docker.run("ps", "--quiet", "--no-trunc", "--filter", label).split()

    def inspect(self, container: str) -> dict[str, Any]:
        """All that Docker knows of a container."""
        (found,) = json.loads(self.docker.run("inspect", container))
        return dict(found)

    def series(self, expression: str) -> list[dict[str, Any]]:
        """What Prometheus says."""
        path = f"/api/v1/query?query={quote(expression)}"
        answer = ask(self.ports["PROMETHEUS_PORT"], "GET", path)
        return list(answer.json["data"]["result"])

    def values(self, expression: str) -> list[str]:
        """The numbers that Prometheus says."""
        return [found["value"][1] for found in self.series(expression)]


@pytest.fixture(scope="module")
def stack() -> Iterator[Containers]:
    """The stack of docker-compose.yml on a Docker of its own."""
    # In the project's folder, whose file system holds images; with a path that is short enough for sockets.
    machine.BUILD.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="d", dir=machine.BUILD))
    project = folder / "project"
    project.mkdir()
    for name in ("docker-compose.yml", ".env.example", "Makefile", "observability", "grafana"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, project / name)
    subprocess.run(["make", "-s", "secrets"], cwd=project, check=True)
    try:
        with machine.docker(folder) as docker:
            machine.make_images(docker)
            containers = Containers(docker, project)
            try:
                containers.up()
                yield containers
            finally:
                containers.compose("down", "--volumes", "--timeout", "10")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_photo_becomes_ready(stack: Containers) -> None:
    photo = stack.ready(stack.ask("POST", "/v1/photos", body=jpeg(2600, 1300)).json["id"])
    assert photo["exif"]["make"] == MAKE
    for preview in photo["previews"]:
        assert len(stack.ask("GET", preview["url"]).body) == preview["size_bytes"]
    assert stack.ask("GET", f"/v1/photos/{photo['id']}/original").body == jpeg(2600, 1300)


def test_prometheus_finds_both_workers_and_the_api(stack: Containers) -> None:
    until(lambda: len(stack.series('up{job="safelight", role="worker"} == 1')) == 2, timeout_s=90)
    api = 'up{job="safelight", role="api"} == 1'
    until(lambda: len(stack.series(api)) == 1, timeout_s=60)
    until(lambda: stack.values('up{job="safelight-pipeline"}') == ["1"], timeout_s=60)
    until(lambda: stack.values("safelight_workers_alive") == ["2"], timeout_s=60)
    builds = {found["metric"]["revision"] for found in stack.series("safelight_build_info")}
    assert builds == {"of-the-tests"}


def test_every_container_is_healthy(stack: Containers) -> None:
    def health(service: str) -> set[str]:
        return {stack.inspect(each)["State"]["Health"]["Status"] for each in stack.of(service)}

    for service in ("postgres", "redis", "api", "worker", "prometheus", "alertmanager", "grafana"):
        until(lambda name=service: health(name) == {"healthy"}, timeout_s=60)  # type: ignore[misc]


def test_a_worker_that_hangs_is_found_unhealthy(stack: Containers) -> None:
    container = stack.of("worker")[0]
    master = stack.inspect(container)["State"]["Pid"]
    (worker,) = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    subprocess.run(["kill", "-STOP", worker], check=True)
    try:
        until(lambda: _exit_code(stack, container) == 1, timeout_s=60)
    finally:
        subprocess.run(["kill", "-CONT", worker], check=True)
    until(lambda: _exit_code(stack, container) == 0, timeout_s=60)


def _exit_code(stack: Containers, container: str) -> int:
    """What the container's health check said when it was last run."""
    last: dict[str, Any] = stack.inspect(container)["State"]["Health"]["Log"][-1]
    return int(last["ExitCode"])


def test_the_image_has_the_command_safelight(stack: Containers) -> None:
    (api,) = stack.of("api")
    told = stack.docker.run("exec", "--workdir", "/", api, "safelight", "import", "--help")
    assert told.startswith("Usage: safelight import")


def test_ours_runs_as_nobody_special_on_a_file_system_that_is_read_only(stack: Containers) -> None:
    (api,) = stack.of("api")
    for command, answer in (("id -u", "10001"), ("touch /srv/app/x || echo refused", "refused")):
        assert stack.docker.run("exec", api, "sh", "-c", command).splitlines()[-1] == answer
    compilers = "command -v gcc cc c++ make; ls /opt/safelight/bin/pip* 2>/dev/null; true"
    assert stack.docker.run("exec", api, "sh", "-c", compilers) == ""


@pytest.mark.parametrize("service", ["worker", "redis", "postgres", "api"])
def test_a_killed_container_comes_back_and_nothing_is_lost(stack: Containers, service: str) -> None:
    pictures = [jpeg(1600, 1200, seed=number + 100 * len(service)) for number in range(6)]
    ids = [stack.ask("POST", "/v1/photos", body=picture).json["id"] for picture in pictures]
    victim = stack.of(service)[0]
    # Its first process, as the kernel would kill it: what `docker kill` ends isn't started again.
    subprocess.run(["kill", "-KILL", str(stack.inspect(victim)["State"]["Pid"])], check=True)
    until(lambda: stack.inspect(victim)["RestartCount"] > 0, timeout_s=60)
    until(lambda: answers(stack.ports["API_PORT"], "/readyz"), timeout_s=60)
    for photo_id in ids:
        assert len(stack.ready(photo_id)["previews"]) == 3


def test_docker_stop_ends_api_and_workers_by_themselves_within_their_grace(stack: Containers) -> None:
    for service in ("api", "worker"):
        for container in stack.of(service):
            begun_s = time.monotonic()
            stack.docker.run("stop", "--time", "45", container)
            assert time.monotonic() - begun_s < 40
            assert stack.inspect(container)["State"]["ExitCode"] == 0
