"""Is it our own page that asks? Cookies go along with all that a browser sends, whoever has it do so."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import request

from api.errors import Problem

_SAFE = ("GET", "HEAD", "OPTIONS")


def check_origin() -> None:
    """Raises Problem (403) if the request changes something and isn't known to come from our own pages.

    `Origin` must name the host that was asked; `Sec-Fetch-Site`, where a browser sends it, must say the same.
    (The cookie is SameSite=Strict besides; but other ports of a host are the same site.)
    """
    if request.method in _SAFE:
        return
    fetched_from = request.headers.get("Sec-Fetch-Site", "same-origin")
    if fetched_from != "same-origin" or not _is_ours(request.headers.get("Origin", "")):
        raise Problem(403, "cross-site-request", "with a cookie only this service's own pages may ask that")


def _is_ours(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == request.host.lower()
