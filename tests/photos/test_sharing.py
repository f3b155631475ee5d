"""Links that need no key: for a while, and for one photo."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from photos.errors import LinkNotValid
from photos.sharing import LINK_S, Sharing


def token(sharing: Sharing, link: str) -> str:
    """What follows the base."""
    return link.rpartition("/")[2]


def test_a_link_opens_its_photo_until_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing, photo_id, now_s = Sharing("k" * 32, "https://host/"), uuid4(), time.time()
    given = token(sharing, sharing.link(photo_id))
    assert sharing.opened(given) == photo_id
    monkeypatch.setattr(time, "time", lambda: now_s + LINK_S + 5)
    with pytest.raises(LinkNotValid):
        sharing.opened(given)


def test_another_keys_link_opens_nothing() -> None:
    one, other = Sharing("k" * 32, "https://host/"), Sharing("o" * 32, "https://host/")
    with pytest.raises(LinkNotValid):
        other.opened(token(one, one.link(uuid4())))


def test_without_a_key_there_are_no_links() -> None:
    none = Sharing("", "https://host/")
    with pytest.raises(LinkNotValid):
        none.link(uuid4())
    with pytest.raises(LinkNotValid):
        none.opened("anything")
