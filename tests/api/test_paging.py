"""Lists: newest first, page by page, each photo just once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.errors import Problem
from api.paging import cursor_of, position_of
from db.session import Database
from tests.hand import Hand
from tests.http import Answer, Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


@pytest.fixture
def ids(client: Client, key: dict[str, str]) -> list[str]:
    """Seven photos' ids, newest first."""
    made = [client.post("/v1/photos", data=jpeg(8, 8, seed=n), headers=key).json["id"] for n in range(7)]
    return made[::-1]


def listed(answer: Answer) -> list[str]:
    """The ids on a page."""
    assert answer.status == 200, answer.body
    return [photo["id"] for photo in answer.json["photos"]]


def test_an_owner_without_photos_has_an_empty_page(client: Client, key: dict[str, str]) -> None:
    answer = client.get("/v1/photos", headers=key)
    assert answer.json == {"photos": [], "next_cursor": None}
    assert "Link" not in answer.headers


def test_photos_are_listed_newest_first_and_only_the_owners(
    client: Client, key: dict[str, str], ids: list[str], auth: Auth
) -> None:
    client.post("/v1/photos", data=jpeg(), headers=auth("bert"))
    assert listed(client.get("/v1/photos", headers=key)) == ids


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_following_the_links_gives_each_photo_once(
    client: Client, key: dict[str, str], ids: list[str], limit: int
) -> None:
    found: list[str] = []
    path: str | None = f"/v1/photos?limit={limit}"
    while path is not None:
        answer = client.get(path, headers=key)
        page = listed(answer)
        assert 0 < len(page) <= limit
        found += page
        link = re.fullmatch(r'<(.+)>; rel="next"', answer.headers.get("Link", ""))
        assert (link is None) == (answer.json["next_cursor"] is None)
        path = link[1] if link else None
    assert found == ids


def test_photos_of_the_same_instant_are_all_listed(
    client: Client, key: dict[str, str], ids: list[str], database: Database
) -> None:
    with database.transaction() as tx:
        tx.execute("UPDATE photos SET created_at = '2024-02-29T12:00:00.123456Z'")
    first = client.get("/v1/photos?limit=4", headers=key)
    second = client.get(f"/v1/photos?limit=4&cursor={first.json['next_cursor']}", headers=key)
    assert sorted(listed(first) + listed(second)) == sorted(ids)


def test_a_page_does_not_move_when_a_photo_is_added(
    client: Client, key: dict[str, str], ids: list[str]
) -> None:
    cursor = client.get("/v1/photos?limit=3", headers=key).json["next_cursor"]
    client.post("/v1/photos", data=jpeg(seed=99), headers=key)
    assert listed(client.get(f"/v1/photos?cursor={cursor}", headers=key)) == ids[3:]


def test_the_state_filters_and_stays_in_the_link(
    client: Client, key: dict[str, str], ids: list[str], hand: Hand
) -> None:
    for identity in ids[:3]:
        hand.finish(identity)
    assert listed(client.get("/v1/photos?state=processing", headers=key)) == ids[3:]
    answer = client.get("/v1/photos?state=ready&limit=2", headers=key)
    assert listed(answer) == ids[:2]
    assert "state=ready" in answer.headers["Link"]
    assert "limit=2" in answer.headers["Link"]


@given(st.datetimes(timezones=st.just(UTC)), st.uuids())
def test_a_cursor_gives_its_position_back(created_at: datetime, identity: UUID) -> None:
    cursor = cursor_of((created_at, identity))
    assert cursor is not None
    assert re.fullmatch(r"[\w-]+", cursor)
    assert position_of(cursor) == (created_at, identity)


@given(st.text())
@example("")
@example("é")
@example("====")
@example("MjAyNC0wMS0wMQ")
def test_any_other_text_is_a_wrong_cursor(text: str) -> None:
    with pytest.raises(Problem) as caught:
        position_of(text)
    assert caught.value.status == 400


def test_no_position_is_no_cursor() -> None:
    assert cursor_of(None) is None
    assert position_of(None) is None


def test_a_cursor_of_a_photo_that_is_gone_still_works(
    client: Client, key: dict[str, str], ids: list[str]
) -> None:
    cursor = cursor_of((datetime.now(UTC), uuid4()))
    assert listed(client.get(f"/v1/photos?cursor={cursor}", headers=key)) == ids


def test_a_cursor_without_a_time_zone_is_no_error(client: Client, key: dict[str, str]) -> None:
    cursor = cursor_of((datetime(2024, 1, 1), uuid4()))  # noqa: DTZ001 - that is the point
    assert client.get(f"/v1/photos?cursor={cursor}", headers=key).status in (200, 400)
