"""Write every dashboard: `python -m grafana.write`, from the project's folder."""

from __future__ import annotations

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

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
        FOLDER / f"{name}.json": json.dumps(board.build(), cls=JSONEncoder, indent=1, sort_keys=True) + "\n"
        for name, board in BOARDS.items()
    }


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
