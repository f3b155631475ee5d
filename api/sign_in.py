"""The console's way in: `/sign-in` takes a key, `/sign-in/<link>` a link; `/sign-out` is the way out."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from api.auth import known_key, requires, session_key
from api.console import TEMPLATES, edition
from api.errors import Problem
from api.key import Key
from api.origin import check_origin
from api.rooms import rooms
from api.sessions import LONGEST

blueprint = Blueprint("sign_in", __name__, template_folder=TEMPLATES)

_GUARDS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # With `no-referrer` a browser would send `Origin: null` from our own forms.
    "Referrer-Policy": "same-origin",
}
_FORM_BYTES = 4096


@blueprint.get("/sign-in")
def sign_in_page() -> Response:
    """A form that takes a key; for whoever is signed in already, a way out."""
    key = session_key()
    ended = key is None and "ended" in request.args
    return _page(key=key, told="Your session has ended: it is too old, or its key is." if ended else None)


@blueprint.post("/sign-in")
def sign_in() -> AnyResponse:
    """Begin a session with a key."""
    check_origin()
    if len(request.get_data()) > _FORM_BYTES:
        raise RequestEntityTooLarge
    try:
        key = known_key(request.form.get("key", "").strip())
    except Problem as problem:
        return _page(problem.status, told=f"{problem}.", headers=problem.headers)
    if key is None:
        return _page(403, told="The key is unknown, expired or revoked.")
    return _signed_in(rooms().sessions.begin(key))


@blueprint.get("/sign-in/<link>")
def link_page(link: str) -> Response:
    """A button. Looking at it spends nothing: programs that look at links before people do press none."""
    return _page(link=link)


@blueprint.post("/sign-in/<link>")
def follow_link(link: str) -> AnyResponse:
    """Spend the link and begin its session."""
    check_origin()
    session = rooms().sessions.spend(link)
    if session is None:
        return _page(403, told="The link was used already, or is too old.")
    return _signed_in(session)


@blueprint.post("/sign-out")
@requires()
def sign_out() -> AnyResponse:
    """End the session."""
    name = rooms().sessions.cookie_name()
    rooms().sessions.end(request.cookies.get(name, ""))
    response = redirect(url_for("sign_in.sign_in_page"), 303)
    response.delete_cookie(name, secure=request.is_secure, httponly=True, samesite="Strict")
    return response


def _page(
    status: int = 200,
    *,
    key: Key | None = None,
    link: str | None = None,
    told: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    page = render_template("sign_in.html", key=key, link=link, told=told, edition=edition())
    return make_response(page, status, {**_GUARDS, **(headers or {})})


def _signed_in(session: str) -> AnyResponse:
    response = redirect(url_for("console.page"), 303)
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        rooms().sessions.cookie_name(),
        session,
        max_age=LONGEST,
        secure=request.is_secure,
        httponly=True,
        samesite="Strict",
    )
    return response
