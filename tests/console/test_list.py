"""The list of photos in the page: pages, events and loading anew, in whatever order their answers come."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.rows import insert_photos
from tests.stack import Stack
from tests.waiting import until

LISTS = re.compile(r"/v1/photos\?")
_BEGIN = """async () => {
    const main = document.querySelector("script[type=module]").src;
    window.module = (name) => import(main.replace("main.js", name));
    window.list = new (await module("list.js")).PhotoList({});
}"""
NAMES = "list.photos.map((photo) => photo.filename)"


def name(number: int) -> str:
    return f"IMG_{number:05}.jpg"


@pytest.fixture
def held() -> list[Route]:
    """Requests for pages of a list that a test keeps waiting."""
    return []


@pytest.fixture
def lists(page: Page, stack: Stack, owner: str) -> Page:
    """A page with a list of its own in `list`, of 20 photos, and one photo in each of its pages."""
    insert_photos(stack, owner, 20)
    page.goto("/#/queues")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.evaluate(_BEGIN)
    page.route(LISTS, lambda route: route.continue_(url=one_each(route)))
    return page


def one_each(route: Route) -> str:
    return re.sub(r"limit=\d+", "limit=1", route.request.url)


def hold(page: Page, held: list[Route], text: str, start: str) -> None:
    """Start something in the page; keep the next list request waiting, whose address has `text` in it."""
    page.route(
        LISTS, lambda route: held.append(route) if text in route.request.url else route.fallback(), times=1
    )
    page.evaluate(f"() => {{ {start} }}")
    until(lambda: page.evaluate("1") == 1 and len(held) > 0)


def test_who_asks_meanwhile_has_it_done_once_more(lists: Page) -> None:
    runs, most = lists.evaluate(
        """async () => {
            const { oneAtATime } = await module("one_at_a_time.js");
            let [runs, now, most] = [0, 0, 0];
            const look = oneAtATime(async () => {
                runs += 1;
                most = Math.max(most, ++now);
                await fetch("/livez");
                now -= 1;
            });
            await Promise.all([look(), look(), look()]);
            return [runs, most];
        }"""
    )
    assert (runs, most) == (2, 1)


def test_a_photo_deleted_while_its_page_comes_is_no_ghost(lists: Page, held: list[Route]) -> None:
    lists.evaluate("list.more()")
    hold(lists, held, "cursor=", "window.page = list.more()")
    answer = held[0].fetch(url=one_each(held[0]))
    [photo] = answer.json()["photos"]
    lists.evaluate("(id) => list.remove(id)", photo["id"])
    held[0].fulfill(response=answer)
    lists.evaluate("page")
    assert lists.evaluate(NAMES) == [name(0)]
    lists.evaluate("list.more()")
    assert lists.evaluate(NAMES) == [name(0), name(2)]


def test_a_page_asked_for_before_it_was_loaded_anew_leaves_no_gap(
    lists: Page, held: list[Route], stack: Stack, owner: str
) -> None:
    lists.evaluate("list.more()")
    hold(lists, held, "cursor=", "window.page = list.more()")
    stack.query(
        "UPDATE photos SET created_at = created_at + interval '2 days'"
        " WHERE owner = :owner AND filename = :name RETURNING 1",
        owner=owner,
        name=name(5),
    )
    lists.evaluate("list.reload()")
    assert lists.evaluate(NAMES) == [name(5)]
    held[0].continue_(url=one_each(held[0]))
    lists.evaluate("page")
    lists.evaluate("list.until(() => list.photos.length === 4)")
    assert lists.evaluate(NAMES) == [name(5), name(0), name(1), name(2)]


def test_what_is_heard_while_it_is_loaded_anew_isnt_overwritten(
    lists: Page, held: list[Route], stack: Stack, owner: str
) -> None:
    lists.evaluate("list.more()")
    hold(lists, held, "limit=60", "window.anew = list.reload()")
    old = held[0].fetch(url=one_each(held[0]))
    [photo] = old.json()["photos"]
    rename = "UPDATE photos SET filename = 'renamed.jpg' WHERE id = CAST(:id AS uuid) RETURNING 1"
    stack.query(rename, id=photo["id"])
    lists.evaluate("(id) => list.touch(id)", photo["id"])
    until(lambda: lists.evaluate(NAMES) == ["renamed.jpg"])
    held[0].fulfill(status=200, body=json.dumps(old.json()), content_type="application/json")
    lists.evaluate("anew")
    until(lambda: lists.evaluate(NAMES) == ["renamed.jpg"])


@pytest.mark.parametrize(("which", "pages"), [("oldest", 10), ("unlisted", 1)])
def test_the_search_for_neighbours_ends(
    lists: Page, stack: Stack, key: dict[str, str], which: str, pages: int
) -> None:
    photos = stack.get("/v1/photos?brief=true", key).json["photos"]
    photo = photos[-1] if which == "oldest" else {**photos[0], "id": "f" * 36}
    asked: list[str] = []
    lists.on("request", lambda request: asked.append(request.url))
    lists.evaluate(
        """async (photo) => {
            const { walking } = await module("neighbours.js");
            await walking(list, photo.id).find(photo, new AbortController().signal);
        }""",
        photo,
    )
    assert sum(bool(LISTS.search(url)) for url in asked) == pages
