"""Lists: newest first, page by page, each photo just once."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.errors import Problem
from api.paging import cursor_of, position_of
from db.session import Database
from photos.views import Filters, Views
from storage.store import Store
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


def test_a_brief_list_has_what_a_grid_of_pictures_shows_and_weighs_little(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo_id = client.post("/v1/photos", data=jpeg(), headers=key).json["id"]
    hand.finish(UUID(photo_id))
    whole = client.get("/v1/photos", headers=key)
    brief = client.get("/v1/photos?brief=true", headers=key)
    [photo], [its] = whole.json["photos"], brief.json["photos"]
    gone = {"size_bytes", "sha256", "ready_at", "warnings", "exif", "analysis", "tasks"}
    assert photo.keys() - its.keys() == gone
    assert its == {**{name: photo[name] for name in its}, "previews": photo["previews"][:1]}
    assert photo["previews"][0]["size"] == "small"
    assert len(brief.body) < len(whole.body) / 3, (len(brief.body), len(whole.body))


def test_photos_are_asked_for_by_their_ids_and_those_of_others_are_not_there(
    client: Client, key: dict[str, str], ids: list[str], auth: Auth
) -> None:
    theirs = client.post("/v1/photos", data=jpeg(), headers=auth("bert")).json["id"]
    query = "&".join(f"id={photo_id}" for photo_id in (ids[4], theirs, ids[1]))
    first = client.get(f"/v1/photos?limit=1&{query}", headers=key)
    assert listed(first) == [ids[1]]
    link = re.fullmatch(r'<(.+)>; rel="next"', first.headers["Link"])
    assert link is not None
    assert listed(client.get(link[1], headers=key)) == [ids[4]]
    too_many = "&".join(f"id={uuid4()}" for _ in range(51))
    assert client.get(f"/v1/photos?{too_many}", headers=key).status == 422


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


@pytest.fixture
def taken(ids: list[str], database: Database) -> list[str]:
    """The ids, of which all but the last were taken, the first at noon of 2024-03-01 and each a day later."""
    with database.transaction() as tx:
        for day, identity in enumerate(ids[:-1], start=1):
            offset = "+05:30" if day % 2 else ""
            exif = f'{{"taken_at": "2024-03-0{day}T12:00:00.25{offset}"}}'
            tx.execute(
                "UPDATE photos SET exif = CAST(:exif AS jsonb) WHERE id = :id", {"exif": exif, "id": identity}
            )
    return ids


@pytest.mark.parametrize(
    ("query", "which"),
    [
        ("taken_after=2024-03-03T12:00:00", slice(2, 6)),
        ("taken_after=2024-03-03T12:00:01", slice(3, 6)),
        ("taken_after=2024-03-03", slice(2, 6)),
        ("taken_before=2024-03-03T12:00:00", slice(2)),
        ("taken_before=2024-03-03", slice(2)),
        ("taken_after=2024-03-02&taken_before=2024-03-04", slice(1, 3)),
        ("taken_after=1900-01-01", slice(6)),
        ("taken_after=2024-03-04&taken_before=2024-03-04", slice(0)),
        ("taken_after=2024-03-01&state=ready", slice(0)),
    ],
)
def test_the_time_of_taking_filters_by_the_cameras_clock(
    client: Client, key: dict[str, str], taken: list[str], query: str, which: slice
) -> None:
    assert listed(client.get(f"/v1/photos?{query}", headers=key)) == taken[which]


def test_all_filters_stay_in_the_link(client: Client, key: dict[str, str], taken: list[str]) -> None:
    query = "taken_after=2024-03-02T12:00:00&taken_before=2024-03-07&state=processing&limit=2"
    path, found = f"/v1/photos?{query}", []
    while path:
        answer = client.get(path, headers=key)
        found += listed(answer)
        link = answer.headers.get("Link", "")
        path = link[1:].partition(">")[0]
        assert not path or all(name in path for name in ("taken_after=2024-03-02", "taken_before", "state"))
    assert found == taken[1:6]


def test_a_photo_is_found_by_its_hash_and_no_other_owners_is(
    client: Client, key: dict[str, str], ids: list[str], auth: Auth
) -> None:
    sha256 = hashlib.sha256(jpeg(8, 8, seed=3)).hexdigest()
    assert listed(client.get(f"/v1/photos?sha256={sha256}", headers=key)) == [ids[3]]
    assert listed(client.get(f"/v1/photos?sha256={sha256.upper()}", headers=key)) == [ids[3]]
    assert listed(client.get(f"/v1/photos?sha256={'0' * 64}", headers=key)) == []
    assert listed(client.get(f"/v1/photos?sha256={sha256}", headers=auth("bert"))) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("taken_after", "yesterday"),
        ("taken_after", ""),
        ("taken_after", "2024-02-30"),
        ("taken_before", "2024-03-01T12:00:00Z"),
        ("taken_before", "2024-03-01T12:00:00%2B02:00"),
        ("sha256", "abc"),
        ("sha256", "g" * 64),
        ("sha256", "0" * 64 + "%0A"),
        ("state", "done"),
        ("limit", "0"),
    ],
)
def test_a_wrong_filter_is_told_by_name(client: Client, key: dict[str, str], name: str, value: str) -> None:
    answer = client.get(f"/v1/photos?{name}={value}", headers=key)
    assert answer.status == 422
    assert list(answer.json["errors"]["query"]) == [name]


_MANY = """
INSERT INTO photos (id, owner, state, media_type, size_bytes, sha256, original_key, received_at, exif)
SELECT gen_random_uuid(), 'anna', 'processing', 'image/jpeg', 1, sha256(CAST(CAST(n AS text) AS bytea)),
    CAST(n AS text), now(), jsonb_build_object('taken_at', to_char(
        CAST('2000-01-01' AS timestamp) + n * interval '1 minute', 'YYYY-MM-DD"T"HH24"\\:"MI"\\:"SS'))
FROM generate_series(1, 200000) AS n
"""


@pytest.mark.slow
def test_one_day_among_200_000_photos_is_found_quickly(database: Database, store: Store) -> None:
    with database.transaction() as tx:
        tx.execute(_MANY)
    with database.transaction() as tx:
        tx.execute("ANALYZE photos")
    begun_s = time.monotonic()
    for month in range(1, 5):  # the first are the last in the order of the list
        wanted = Filters(taken_after=datetime(2000, month, 3), taken_before=datetime(2000, month, 4))  # noqa: DTZ001
        page = Views(database, store).page(owner="anna", limit=50, filters=wanted)
        assert len(page.photos) == 50
    took_ms = (time.monotonic() - begun_s) * 250
    print(f"a page of one day among 200,000 photos: {took_ms:.0f} ms")  # noqa: T201
    assert took_ms < 2_000
