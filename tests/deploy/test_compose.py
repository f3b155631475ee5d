"""docker-compose.yml, Dockerfile and .env.example, as far as they can be checked without Docker."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from config import Settings
from photos.kinds import KINDS
from tests.deploy.compose import COMPOSE, ROOT, SERVICES, TEXT

OURS = ("migrate", "api", "worker", "analysis-worker")
EXAMPLE = (ROOT / ".env.example").read_text()
DOCUMENTED = set(re.findall(r"(?m)^(?:# )?([A-Z][A-Z0-9_]+)=", EXAMPLE))
SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "GRAFANA_PASSWORD")


def test_every_variable_is_in_the_example_and_every_one_there_is_used() -> None:
    used = set(re.findall(r"\$\{([A-Z0-9_]+)", TEXT))
    passed_on = {name for name, value in COMPOSE["x-environment"].items() if value is None}
    assert used | passed_on == DOCUMENTED


def test_what_is_passed_on_are_settings_that_are_documented() -> None:
    settings = {f"SAFELIGHT_{each.name.upper()}" for each in fields(Settings)}
    for service in OURS:
        for name in SERVICES[service]["environment"]:
            assert name in settings or name.startswith("AWS_"), name
            assert f"`{name}`" in (ROOT / "docs" / "settings.md").read_text(), name


@pytest.mark.parametrize("secret", SECRETS)
def test_a_missing_secret_is_an_error_that_says_what_to_do(secret: str) -> None:
    assert set(re.findall(rf"\$\{{{secret}([^}}]*)\}}", TEXT)) == {":?is not set - make secrets writes .env"}
    assert re.search(rf"(?m)^{secret}=$", EXAMPLE)


def test_there_is_no_secret_in_the_files() -> None:
    for name, default in re.findall(r"\$\{([A-Z0-9_]+):-([^}]*)\}", TEXT):
        assert not re.search("PASSWORD|KEY|SECRET|TOKEN", name) or not default, name


def test_every_mounted_file_and_folder_is_there() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists(), (name, source)
                assert volume.endswith(":ro"), (name, volume)
            else:
                assert source in COMPOSE["volumes"], (name, source)


def test_only_the_api_is_published_beyond_this_machine() -> None:
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:") or name == "api", (name, port)


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_restarts_is_bounded_and_rotates_its_log(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    assert service["mem_limit"]
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_each_service_that_goes_on_has_a_health_check(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert _seconds(check["timeout"]) <= _seconds(check["interval"])


@pytest.mark.parametrize("name", SERVICES)
def test_images_of_others_have_a_version(name: str) -> None:
    image, _, version = SERVICES[name]["image"].partition(":")
    assert re.search(r"\d", version) or image == "safelight"


@pytest.mark.parametrize("name", OURS)
def test_our_containers_may_do_no_more_than_they_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]


@pytest.mark.parametrize("name", ["api", "worker", "analysis-worker"])
def test_migrations_run_once_before_the_service_starts(name: str) -> None:
    assert SERVICES[name]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
        "migrate": {"condition": "service_completed_successfully"},
    }
    assert "healthcheck" in SERVICES["postgres"]
    assert "healthcheck" in SERVICES["redis"]


def test_containers_are_given_the_time_that_a_graceful_end_takes() -> None:
    api = SERVICES["api"]
    graceful_s = float(api["environment"]["SAFELIGHT_DRAIN_S"]) + float(
        api["environment"]["SAFELIGHT_GRACE_S"]
    )
    assert _seconds(api["stop_grace_period"]) > graceful_s
    for name in ("worker", "analysis-worker"):
        command = SERVICES[name]["command"]
        finishing_ms = int(command[command.index("--worker-shutdown-timeout") + 1])
        assert _seconds(SERVICES[name]["stop_grace_period"]) > finishing_ms / 1000


def _seconds(duration: str) -> int:
    return int(duration.removesuffix("s"))


def test_a_workers_slots_are_its_threads_and_every_queue_has_a_worker() -> None:
    queues: list[str] = []
    for name in ("worker", "analysis-worker"):
        command = SERVICES[name]["command"]
        assert (
            command[command.index("--threads") + 1] == SERVICES[name]["environment"]["SAFELIGHT_WORKER_SLOTS"]
        )
        queues += command[command.index("--queues") + 1 :]
    assert sorted(queues) == sorted(KINDS)


def test_profiles_keep_out_what_not_everyone_needs() -> None:
    found = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert found == {"analysis-worker": ["analysis"], "s3": ["s3"], "adminer": ["adminer"]}


def test_grafana_lets_nobody_in_without_a_password() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_USERS_ALLOW_SIGN_UP"] == "false"


def test_prometheus_asks_services_of_the_stack_at_the_ports_that_they_listen_on() -> None:
    config = yaml.safe_load((ROOT / "observability" / "prometheus" / "prometheus.yml").read_text())
    targets = [
        target
        for job in [*config["scrape_configs"], *config["alerting"]["alertmanagers"]]
        for static in job.get("static_configs", [])
        for target in static["targets"]
    ]
    assert sorted(targets) == ["alertmanager:9093", "api:8001"]
    assert {target.partition(":")[0] for target in targets} <= set(SERVICES)
    (found,) = [sd["url"] for job in config["scrape_configs"] for sd in job.get("http_sd_configs", [])]
    assert found == "http://api:8001/internal/targets"
    assert SERVICES["api"]["environment"]["SAFELIGHT_MONITORING_HOST"] == "0.0.0.0"
    assert Settings.port + 1 == Settings.monitoring_port == 8001


def test_the_links_of_alerts_lead_to_grafanas_port() -> None:
    config = yaml.safe_load((ROOT / "observability" / "prometheus" / "prometheus.yml").read_text())
    assert config["global"]["external_labels"]["grafana"] == "http://localhost:3000"
    assert SERVICES["grafana"]["ports"] == ["127.0.0.1:${GRAFANA_PORT:-3000}:3000"]


def test_grafana_finds_its_dashboards_and_prometheus_where_they_are_mounted() -> None:
    mounts = dict(volume.split(":")[:2] for volume in SERVICES["grafana"]["volumes"])
    provisioning = ROOT / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "safelight.yml").read_text())["providers"]
    assert provider["options"]["path"] == mounts["./grafana/dashboards"]
    assert mounts["./grafana/provisioning"] == "/etc/grafana/provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"


def test_the_image_has_every_room_that_the_service_imports() -> None:
    copied = set(re.findall(r"(?m)^COPY (\w+) \./\1$", (ROOT / "Dockerfile").read_text()))
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms - copied == {"bench", "embedded", "examples", "grafana", "tests"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{room}" for room in copied} <= set(ignored)


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    told = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, "")


@pytest.fixture
def folder_of_secrets(tmp_path: Path) -> Path:
    """A folder in which `make secrets` may write."""
    for name in ("Makefile", ".env.example"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def _make_secrets(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-s", "secrets"], cwd=folder, capture_output=True, text=True, check=False)


def test_make_secrets_writes_each_secret_for_its_owner_alone(folder_of_secrets: Path) -> None:
    assert _make_secrets(folder_of_secrets).returncode == 0
    written = folder_of_secrets / ".env"
    assert written.stat().st_mode & 0o777 == 0o600
    values = dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", written.read_text()))
    assert set(SECRETS) <= set(values)
    assert all(re.fullmatch("[0-9a-f]{48}", value) for value in values.values())
    assert len(set(values.values())) == len(values)


def test_make_secrets_leaves_one_that_is_there_as_it_is(folder_of_secrets: Path) -> None:
    (folder_of_secrets / ".env").write_text("POSTGRES_PASSWORD=mine\n")
    answer = _make_secrets(folder_of_secrets)
    assert answer.returncode != 0
    assert "exists" in answer.stderr
    assert (folder_of_secrets / ".env").read_text() == "POSTGRES_PASSWORD=mine\n"
