"""What the API and the worker don't import: each such library would be megabytes in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import ROOT

_DECODERS = {"PIL", "cykooz_resizer", "exifread", "numpy", "pillow_heif", "simplejpeg"}
_OF_COMMANDS = {"alembic", "client", "mako", "tqdm"}
_OF_SETTINGS = {"obstore", "requests", "urllib3"}
"""These are needed where the store is S3, or the analysis has a URL."""


@pytest.mark.parametrize(
    ("root", "unneeded"),
    [
        ("import app; app.create_app()", {"psutil", "valkey"}),
        ("import actors", {"flask", "jinja2"}),
    ],
)
def test_no_process_imports_what_it_does_not_need(root: str, unneeded: set[str], tmp_path: Path) -> None:
    needed = {
        "SAFELIGHT_DATABASE_URL": "postgresql://user@host/database",
        "SAFELIGHT_REDIS_URL": "redis://host",
        "SAFELIGHT_STORAGE_URL": tmp_path.as_uri(),
        "SAFELIGHT_ANALYSIS_URL": "",
    }
    script = f"import sys; {root}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **needed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    imported = set(ran.stdout.split())
    assert "sqlalchemy" in imported
    assert imported & (_DECODERS | _OF_COMMANDS | _OF_SETTINGS | unneeded) == set()
