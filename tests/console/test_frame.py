"""The frame: who is let in, and what may be asked for."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole, sign_in
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
    page.wait_for_url("**/sign-in")
    sign_in(page, stack.key(owner))
    page.wait_for_url("**/#/photos?state=failed")
    expect(page.get_by_label("State")).to_have_value("failed")
