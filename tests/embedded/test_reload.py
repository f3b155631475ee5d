"""Noticing that a source file changed."""

from __future__ import annotations

from pathlib import Path

from embedded import processes
from embedded.reload import Changes


def test_a_changed_source_is_noticed_once_and_data_is_not(tmp_path: Path) -> None:
    for name in ("api", "var"):
        (tmp_path / name).mkdir()
    changes = Changes(tmp_path)
    assert not changes.take()
    for source in (tmp_path / "config.py", tmp_path / "api" / "photos.py"):
        (tmp_path / "var" / "data.py").write_text("1")
        (tmp_path / "api" / "notes.txt").write_text("1")
        assert not changes.take()
        source.write_text("1")
        assert processes.settles(changes.take, timeout_s=10)
        processes.settles(lambda: False, timeout_s=0.3)  # creating and writing are two events
        changes.take()
