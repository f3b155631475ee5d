"""Given workers on hosts of their own, when photos come in, all of them work; losing one loses nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from embedded import processes
from tests.flows.hosts import Hosts
from tests.http import ask
from tests.pictures import jpeg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def may_have_hosts() -> None:
    """Network namespaces can be made here."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        assert not os.environ.get("CI"), "network namespaces need root and iproute2"
        pytest.skip("network namespaces need root and iproute2")


@pytest.fixture
def hosts(may_have_hosts: None, tmp_path: Path) -> Iterator[Hosts]:
    """An API, and a worker on each of three hosts, over one folder."""
    with Hosts(tmp_path, count=3) as hosts:
        yield hosts


@pytest.fixture
def hosts_over_s3(may_have_hosts: None, tmp_path: Path) -> Iterator[Hosts]:
    """An API, and a worker on each of two hosts, with nothing in common but the network."""
    with Hosts(tmp_path, count=2, over_s3=True) as hosts:
        yield hosts


def upload(hosts: Hosts, count: int) -> dict[str, str]:
    """Upload so many photos; returns the headers of their owner's key."""
    key = hosts.key("anna")
    for seed in range(count):
        hosts.upload(jpeg(2400, 1600, seed=seed), key)
    return key


def done(hosts: Hosts) -> bool:
    """Whether no photo is being processed."""
    return not hosts.query("SELECT FROM photos WHERE state = 'processing'")


def test_workers_on_other_hosts_share_the_work_and_are_found_by_prometheus(hosts: Hosts) -> None:
    upload(hosts, 24)
    assert processes.settles(lambda: done(hosts), timeout_s=90)
    assert len(hosts.workers_of("completed")) == 3
    assert hosts.workers_of("completed").total() == 48

    groups = ask(hosts.settings.monitoring_port, "GET", "/internal/targets").json
    targets = [target for group in groups for target in group["targets"]]
    found = {target.rpartition(":")[0] for target in targets}
    assert found >= {host.address for host in hosts.hosts}
    for target in targets:
        if target.startswith(hosts.hosts[0].address):
            with urlopen(f"http://{target}/metrics", timeout=10) as answer:
                assert b"safelight_tasks_total" in answer.read()


def test_a_host_that_is_cut_off_loses_nothing_and_does_nothing_twice(hosts: Hosts) -> None:
    hosts.expected.append(".*")  # of the host that finds everything away
    lost, *_ = hosts.hosts
    pid = str(hosts.pids(lost.name)[0])
    uploading = threading.Thread(target=upload, args=(hosts, 30))
    uploading.start()
    in_hand = "SELECT worker FROM tasks WHERE state = 'processing'"
    assert processes.settles(lambda: any(pid in row.worker for row in hosts.query(in_hand)), timeout_s=30)
    lost.cut_off()
    uploading.join()
    assert processes.settles(lambda: done(hosts), timeout_s=120)

    lost.reconnect()
    after = hosts.key("berta")
    again = [hosts.upload(jpeg(2400, 1600, seed=seed), after) for seed in range(100, 130)]
    assert processes.settles(lambda: done(hosts), timeout_s=90)
    assert {hosts.wait_done(photo, after)["state"] for photo in again} == {"ready"}
    twice = "SELECT task_id FROM attempts WHERE outcome = 'completed' GROUP BY task_id HAVING count(*) > 1"
    assert not hosts.query(twice)
    assert {row.state for row in hosts.query("SELECT state FROM photos")} == {"ready"}
    assert {row.n for row in hosts.query("SELECT count(*) AS n FROM previews GROUP BY photo_id")} == {3}


def test_hosts_that_share_no_file_system_work_over_s3(hosts_over_s3: Hosts, tmp_path: Path) -> None:
    hosts = hosts_over_s3
    for host in hosts.hosts:
        shown = subprocess.run(
            ["nsenter", f"--mount=/proc/{hosts.pids(host.name)[0]}/ns/mnt", "ls", "-A", str(tmp_path)],
            capture_output=True,
            check=True,
        )
        assert shown.stdout == b""
    key = hosts.key("anna")
    photos = [hosts.upload(jpeg(2400, 1600, seed=seed), key) for seed in range(16)]
    assert processes.settles(lambda: done(hosts), timeout_s=90)
    assert len(hosts.workers_of("completed")) == 2
    assert hosts.workers_of("completed").total() == 32
    for photo in photos:
        for preview in hosts.wait_ready(photo, key)["previews"]:
            assert len(hosts.get(preview["url"], key).body) == preview["size_bytes"]
    assert not (tmp_path / "store").exists()
