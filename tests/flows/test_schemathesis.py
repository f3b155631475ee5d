"""schemathesis over the whole OpenAPI document, against the running service."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.farm import Farm
from tests.pictures import jpeg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

_LIMIT_S = 120
# What a photo is can't be told by a schema: bytes and digests that fit it are refused, and a form's parts
# need no type. Of many wrong keys the last get a 429, not a 401; tests/api/test_auth.py tries every route
# without a key. A stream of events doesn't end; it has tests of its own.
_NOT_CHECKED = "positive_data_acceptance,negative_data_rejection,ignored_auth"


def test_every_answer_is_as_documented_and_none_is_a_servers_error(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.settings = replace(farm.settings, rate_limit="off")
    with farm:
        key = farm.key("anna", "admin")
        for seed in range(5):
            farm.wait_ready(farm.upload(jpeg(64, 64, seed=seed), key), key)
        schemathesis = str(Path(sys.executable).parent / "schemathesis")
        options = {
            "--header": f"Authorization: {key['Authorization']}",
            "--exclude-checks": _NOT_CHECKED,
            "--exclude-path-regex": "events$",
            "--max-time": str(_LIMIT_S),
            "--max-failures": "20",
            "--request-timeout": "40",
            "--workers": "2",
            "--generation-with-security-parameters": "false",  # else most requests have a wrong key
        }
        url = f"http://127.0.0.1:{farm.settings.port}/openapi.json"
        run = subprocess.run(
            [schemathesis, "run", url, *(part for option in options.items() for part in option)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
        assert " passed" in run.stdout
