"""Who asks, and whether they may: `Authorization: Bearer <key>` (RFC 6750), or the console's cookie."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from flask import g, request

from api.errors import Problem
from api.key import Key
from api.limits import Window
from api.origin import check_origin
from api.rooms import rooms
from api.tracing import log_more

View = TypeVar("View", bound=Callable[..., Any])


def current_key() -> Key:
    """The key that the current request was made with."""
    return cast(Key, g.key)


def requires(scope: str | None = None) -> Callable[[View], View]:
    """Let a view answer only to keys with `scope`, or to any key. It must be the outermost decorator.

    A session of the console (`api.sign_in`) is as good as the key that it was begun with; a key wins over it.

    Raises (as answers):
        401 if there is no usable key, 403 if it lacks the scope, 429 if there were too many requests with it
        or too many wrong keys, 403 if another site's page asks with the cookie; all before an upload is read.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            g.key = _authenticate(scope)
            log_more(key_id=g.key.id, owner=g.key.owner)
            return view(*args, **kwargs)

        cast(Any, guarded).scope = scope
        return cast(View, guarded)

    return decorate


def _authenticate(scope: str | None) -> Key:
    key = _key_sent()
    _count(key)
    if scope is not None and not key.allows(scope):
        raise Problem(
            403,
            "missing-scope",
            f"the key lacks the scope {scope}",
            {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )
    return key


def session_key() -> Key | None:
    """What the request's cookie stands for, if there is one and its session isn't over."""
    if not request.cookies:
        return None
    sessions = rooms().sessions
    secret = request.cookies.get(sessions.cookie_name())
    return sessions.find(secret) if secret else None


def _key_sent() -> Key:
    if "Authorization" not in request.headers and (key := session_key()):
        check_origin()
        if key.key_id is not None:
            rooms().keys.used(key.key_id)
        return key
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise _unauthorized("send a key: Authorization: Bearer sl_...", "")
    key = known_key(text.strip())
    if key is None:
        raise _unauthorized("the key is unknown, expired or revoked", ', error="invalid_token"')
    return key


def known_key(text: str) -> Key | None:
    """The key that a client sent, or None.

    Raises:
        Problem: it is wrong, and so were too many from that address (429). Right keys go on: there may be
            a whole office behind the address.
    """
    key = rooms().keys.authenticate(text)
    if key is not None:
        rooms().keys.used(key.id)
        return key
    window = rooms().limits.bad_key_from(_network(request.remote_addr or "unknown"))
    if not window.allowed:
        raise _too_many("too-many-bad-keys", "too many wrong keys came from this address", window)
    return None


def _count(key: Key) -> None:
    window = rooms().limits.request_of(key.key_id or key.id)
    if window is None:
        return
    g.rate_limit_headers = window.headers("key")
    if not window.allowed:
        raise _too_many("rate-limited", f"a key may make {window.limit} requests", window)


def _too_many(code: str, detail: str, window: Window) -> Problem:
    return Problem(429, code, detail, {"Retry-After": str(window.reset_s)})


def _network(address: str) -> str:
    """The address, or the /64 of an IPv6 address: whoever has one of those has them all."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:  # of a socket for both versions
        parsed = parsed.ipv4_mapped
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


def _unauthorized(detail: str, error: str) -> Problem:
    challenge = f'Bearer realm="safelight"{error}'
    return Problem(401, "unauthorized", detail, {"WWW-Authenticate": challenge})
