"""`/openapi.json`, and `/docs`: Swagger UI from a package, without the internet."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from flask import Blueprint, Response, current_app, jsonify, send_from_directory
from werkzeug.exceptions import NotFound

blueprint = Blueprint("documents", __name__)

_OWN = Path(__file__).parent / "docs"
_PACKAGED = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png")
# Swagger UI draws its icons from data: URLs and sets styles on its elements.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """The OpenAPI 3.1 document."""
    return jsonify(current_app.extensions["safelight.openapi"])


@blueprint.get("/docs")
def page() -> Response:
    """The page."""
    response = send_from_directory(_OWN, "index.html")
    response.headers["Content-Security-Policy"] = _POLICY
    return response


@blueprint.get("/docs/<string:name>")
def asset(name: str) -> Response:
    """What the page is made of."""
    if name == "start.js":
        return send_from_directory(_OWN, name)
    if name in _PACKAGED:
        return send_from_directory(str(files("flask_swagger_ui") / "dist"), name, max_age=86_400)
    raise NotFound
