"""`/livez`: the process answers. `/readyz`: it can do its work."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from api.rooms import rooms

blueprint = Blueprint("health", __name__)

# Without Redis uploads are still taken: the relay sends their messages later.
_NEEDED = ("postgres", "storage")


@blueprint.get("/livez")
def livez() -> Response:
    """Always 200: restart the process if this doesn't answer."""
    return jsonify(status="alive")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """200 if uploads can be taken, else 503; says of each dependency whether it is up.

    It says 503 as well when the process is to end, before it takes no more requests.
    """
    up = rooms().dependencies.up()
    ready = all(up[name] for name in _NEEDED)
    status = "leaving" if rooms().leaving.is_set() else "ready" if ready else "not ready"
    return jsonify(status=status, dependencies=up), 200 if status == "ready" else 503
