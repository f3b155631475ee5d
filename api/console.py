"""The console: one page at `/`, and the files that it is made of; all of it is in the room `console/`."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from flask import Blueprint, Response, make_response, redirect, render_template, send_from_directory, url_for
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as AnyResponse

from api.auth import session_key

_ROOM = Path(__file__).parent.parent / "console"
_STATIC = _ROOM / "static"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# With `no-referrer` a browser would send `Origin: null` from our own page, and our POSTs be refused.
_GUARDS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin"}
_FOREVER_S = 365 * 86_400
_IMPORT = re.compile(r'^(?:import|export) [^"(]*"\./([\w/]+\.js)";', re.MULTILINE)

TEMPLATES = str(_ROOM / "templates")

blueprint = Blueprint("console", __name__, template_folder=TEMPLATES)


@cache
def edition() -> str:
    """A name for the files as they are: it stands in their URLs, so that they may be cached for ever."""
    digest = hashlib.sha256()
    for path in sorted(_STATIC.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(_STATIC)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _modules() -> tuple[str, ...]:
    """What the first view imports: a browser that is told fetches all of it at once, not import by import."""
    found, waiting = ["main.js"], ["main.js"]
    while waiting:
        imported = _IMPORT.findall((_STATIC / waiting.pop()).read_text())
        new = [name for name in dict.fromkeys(imported) if name not in found]
        found += new
        waiting += new
    return tuple(found[1:])


@blueprint.get("/")
def page() -> AnyResponse:
    """The page, for whoever is signed in; else the way in."""
    key = session_key()
    if key is None:
        return redirect(url_for("sign_in.sign_in_page"), 303)
    text = render_template("console.html", key=key, edition=edition(), modules=_modules())
    return make_response(text, 200, {**_GUARDS, "Cache-Control": "no-store"})


@blueprint.get("/console/<string:of>/<path:name>")
def asset(of: str, name: str) -> Response:
    """One of the page's files; of another edition there are none."""
    if of != edition():
        raise NotFound
    response = send_from_directory(_STATIC, name, max_age=_FOREVER_S)
    response.cache_control.immutable = True
    response.headers.update(_GUARDS)
    return response
