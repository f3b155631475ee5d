"""The frame: who is let in, and what may be asked for."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from api.sessions import Sessions
from db.session import Database
from tests.console.conftest import ALL_SCOPES, OpenConsole, sign_in
from tests.console.rows import insert_photos
from tests.stack import Stack


def test_who_signs_in_lands_on_the_photos(page: Page, owner: str) -> None:
    expect(page).to_have_title("Photos · Safelight")
    expect(page.get_by_title("Signed in as")).to_have_text(owner)


def test_only_what_the_scopes_allow_is_shown(open_console: OpenConsole, owner: str) -> None:
    page = open_console(owner, "photos:read")
    expect(page.get_by_role("navigation", name="Places").get_by_role("link")).to_have_text(["Photos"])


def test_who_has_to_sign_in_again_comes_back_to_where_they_were(
    page: Page, stack: Stack, owner: str, expected: list[str]
) -> None:
    expected.append("status of 401")
    expect(page.get_by_text("No photos yet")).to_be_visible()
    page.context.clear_cookies()
    page.get_by_label("State").select_option("Failed")
    page.wait_for_url("**/sign-in?ended")
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    sign_in(page, stack.key(owner))
    page.wait_for_url("**/#/photos?state=failed")
    expect(page.get_by_label("State")).to_have_value("failed")


@pytest.mark.parametrize("by", ["key", "link"])
def test_who_follows_a_link_and_signs_in_first_comes_to_where_it_leads(
    open_console: OpenConsole, stack: Stack, owner: str, by: str
) -> None:
    page = open_console(owner)
    page.goto("about:blank")  # first: what the page asks for after that would be refused
    page.context.clear_cookies()
    if by == "key":
        page.goto("/#/queues")
        page.wait_for_url("**/sign-in#/queues")
        page.get_by_label("API key").fill(
            stack.key(owner, *ALL_SCOPES)["Authorization"].removeprefix("Bearer ")
        )
    else:
        database = Database(stack.settings.database_url, application_name="tests-frame")
        page.goto(f"/sign-in/{Sessions(database).make_link(owner, ['admin'])}#/queues")
        database.close()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    assert page.evaluate("location.hash") == "#/queues"


def test_skipping_to_the_content_stays_in_the_place(page: Page) -> None:
    page.goto("/#/queues")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.get_by_role("link", name="Skip to the content").press("Enter")
    expect(page.locator("#view")).to_be_focused()
    assert page.evaluate("location.hash") == "#/queues"


def test_a_page_whose_files_are_gone_says_what_to_do(page: Page, expected: list[str]) -> None:
    expected.append("status of 404 .*/main.js")
    page.route("**/main.js", lambda route: route.fulfill(status=404))
    page.reload()
    expect(page.get_by_text("If this stays, reload the page")).to_be_visible()


def test_a_view_with_a_fault_says_so(page: Page, expected: list[str]) -> None:
    expected.append("out of order")
    fault = "export function show() { throw new Error('out of order'); }"
    page.route("**/queues.js", lambda route: route.fulfill(body=fault, content_type="text/javascript"))
    page.get_by_role("link", name="Queues").click()
    expect(page.get_by_role("alert")).to_contain_text("This view can't be shown: out of order")
    page.get_by_role("link", name="System").click()
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()


def test_the_focus_stays_in_the_view_from_photo_to_photo(page: Page, stack: Stack, owner: str) -> None:
    insert_photos(stack, owner, 3)
    page.reload()
    page.locator(".tile .open").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("IMG_00000.jpg")
    page.get_by_label("Older photo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("IMG_00001.jpg")
    expect(page.locator("#view")).to_be_focused()
