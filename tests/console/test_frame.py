"""The frame: who is let in, and what may be asked for."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole


def test_who_signs_in_lands_on_the_photos(page: Page, owner: str) -> None:
    expect(page).to_have_title("Photos · Safelight")
    expect(page.get_by_title("Signed in as")).to_have_text(owner)


def test_only_what_the_scopes_allow_is_shown(open_console: OpenConsole, owner: str) -> None:
    page = open_console(owner, "photos:read")
    expect(page.get_by_role("navigation", name="Places").get_by_role("link")).to_have_text(["Photos"])
