"""The console's page and files: for whom, how long, and what a browser may do with them."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.api.test_sign_in import cookie, sign_in
from tests.http import Client

MakeKey = Callable[..., str]


def page(client: Client, key: str) -> tuple[str, dict[str, str]]:
    """The page as someone with that key gets it, and its headers."""
    answer = client.get("/", headers=cookie(sign_in(client, key)))
    assert answer.status == 200
    return answer.body.decode(), dict(answer.headers)


def test_who_is_not_signed_in_is_sent_to_the_way_in(client: Client) -> None:
    answer = client.get("/")
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in")


def test_the_page_says_who_is_signed_in_and_is_kept_nowhere(client: Client, make_key: MakeKey) -> None:
    text, headers = page(client, make_key('anna"><script>', "photos:read", "photos:write"))
    assert 'data-owner="anna&#34;&gt;&lt;script&gt;"' in text
    assert 'data-scopes="photos:read photos:write"' in text
    assert headers["Cache-Control"] == "no-store"


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(
    client: Client, make_key: MakeKey
) -> None:
    text, headers = page(client, make_key())
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert not re.search(r"unsafe|\*|https?:", policy)
    assert not re.search(r"<script(?! type=\"module\" src=\"/)|<style|\sstyle=|\son\w+=|https?://", text)


def test_the_pages_files_are_kept_for_ever_under_their_edition_alone(
    client: Client, make_key: MakeKey
) -> None:
    text, _ = page(client, make_key())
    paths = re.findall(r'(?:src|href)="(/console/[^"]+)"', text)
    assert len(paths) >= 5
    for path in paths:
        file = client.get(path)
        assert file.status == 200, path
        assert "immutable" in file.headers["Cache-Control"]
        assert file.headers["X-Content-Type-Options"] == "nosniff"
    other = re.sub(r"/console/[0-9a-f]+/", "/console/000000000000/", paths[-1])
    assert client.get(other).status == 404
    outside = re.sub(r"[^/]+$", "..%2ftemplates/console.html", paths[-1])
    assert client.get(outside).status == 404
