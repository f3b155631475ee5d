"""Who asks, and whether they may: `Authorization: Bearer <key>` (RFC 6750)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from flask import g, request

from api.errors import Problem
from api.key import Key
from api.rooms import rooms
from api.tracing import log_more

View = TypeVar("View", bound=Callable[..., Any])


def current_key() -> Key:
    """The key that the current request was made with."""
    return cast(Key, g.key)


def requires(scope: str) -> Callable[[View], View]:
    """Let a view answer only to keys with `scope`. It must be the outermost decorator.

    Raises (as answers):
        401 if there is no usable key, 403 if it lacks the scope; both before the body is read.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            g.key = _authenticate(scope)
            log_more(key_id=g.key.id, owner=g.key.owner)
            rooms().keys.used(g.key.id)
            return view(*args, **kwargs)

        cast(Any, guarded).scope = scope
        return cast(View, guarded)

    return decorate


def _authenticate(scope: str) -> Key:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise _unauthorized("send a key: Authorization: Bearer sl_...", "")
    key = rooms().keys.authenticate(text.strip())
    if key is None:
        raise _unauthorized("the key is unknown, expired or revoked", ', error="invalid_token"')
    if not key.allows(scope):
        raise Problem(
            403,
            "missing-scope",
            f"the key lacks the scope {scope}",
            {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )
    return key


def _unauthorized(detail: str, error: str) -> Problem:
    challenge = f'Bearer realm="safelight"{error}'
    return Problem(401, "unauthorized", detail, {"WWW-Authenticate": challenge})
