"""Write every dashboard: `python -m grafana.write`, from the project's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana import api, overview, queues, workers

FOLDER = Path(__file__).parent / "dashboards"
BOARDS = {
    "overview": overview.BOARD,
    "queues": queues.BOARD,
    "api": api.BOARD,
    "workers": workers.BOARD,
}


def texts() -> dict[Path, str]:
    """Each dashboard's JSON, by its file."""
    return {
        FOLDER / f"{name}.json": json.dumps(plain(board.build()), indent=1, sort_keys=True) + "\n"
        for name, board in BOARDS.items()
    }


def plain(made: Dashboard) -> Any:
    """A dashboard as JSON's types."""
    return json.loads(json.dumps(made, cls=JSONEncoder), object_hook=_in_sight)


def _in_sight(entry: dict[str, Any]) -> dict[str, Any]:
    """Links and annotations without the SDK's wish to hide them in a menu."""
    return {name: value for name, value in entry.items() if (name, value) != ("placement", "inControlsMenu")}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
