"""The system in the browser: what it stands on, who runs, and keys."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.stack import Stack
from tests.waiting import until


def test_dependencies_processes_and_the_relay_are_told(page: Page) -> None:
    page.goto("/#/system")
    for name in ("PostgreSQL", "Redis or Valkey", "Store"):
        expect(page.get_by_role("listitem").filter(has_text=name)).to_contain_text("up")
    expect(page.get_by_text(re.compile("^PostgreSQL [0-9.]+, started"))).to_be_visible()
    expect(page.get_by_role("cell", name="worker, 4 slots")).to_be_visible()
    expect(page.get_by_role("cell", name="API", exact=True).first).to_be_visible()
    expect(page.get_by_text(re.compile("^last round .* ago by "))).to_be_visible()
    expect(page.get_by_role("link", name="API", exact=True)).to_have_attribute("href", "/docs")


def test_a_key_is_made_and_shown_once_and_works_until_it_is_revoked(
    page: Page, stack: Stack, owner: str
) -> None:
    page.goto("/#/system")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Owner").fill(f"{owner}-guest")
    for scope in ("photos:write", "photos:read", "originals:read"):
        form.get_by_label(scope).uncheck()
    form.get_by_label("Expires").select_option(label="In a week")
    form.get_by_role("button", name="Make the key").click()
    expect(form.get_by_role("alert")).to_contain_text("tick at least one right")
    form.get_by_label("photos:read").check()
    form.get_by_role("button", name="Make the key").click()
    secret = page.get_by_label("The new key").input_value()
    for _ in range(3):
        page.keyboard.press("Escape")
    expect(page.get_by_label("The new key")).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    row = page.get_by_role("row").filter(has_text=f"{owner}-guest")
    expect(row).to_contain_text("expires in 6 d")
    assert secret not in page.content()

    headers = {"Authorization": f"Bearer {secret}"}
    me = stack.get("/v1/me", headers).json
    assert (me["owner"], me["scopes"]) == (f"{owner}-guest", ["photos:read"])
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Revoke this key?").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    until(lambda: stack.get("/v1/me", headers).status == 401)
    page.get_by_label("Ended ones too").check()
    expect(row).to_contain_text("revoked")


def test_a_key_is_rotated(page: Page, stack: Stack, owner: str) -> None:
    old = stack.key(f"{owner}-robot", "photos:read")
    page.goto("/#/system")
    row = page.get_by_role("row").filter(has_text=f"{owner}-robot")
    row.get_by_role("button", name="Rotate").click()
    page.get_by_label("The old one goes on for").select_option(label="Not at all: it ends now")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    new = {"Authorization": f"Bearer {page.get_by_label('The new key').input_value()}"}
    page.get_by_role("button", name="I have it").click()
    assert stack.get("/v1/me", new).json["owner"] == f"{owner}-robot"
    until(lambda: stack.get("/v1/me", old).status == 401)
    expect(row).to_have_count(1)


def test_who_is_no_operator_sees_no_operators_place(open_console: OpenConsole, owner: str) -> None:
    page = open_console(owner, "photos:read", "photos:write", "originals:read")
    for place in ("queues", "dead-letters", "system"):
        page.goto(f"/#/{place}")
        page.wait_for_url("**/#/photos")
    expect(page.get_by_role("navigation", name="Places").get_by_role("link")).to_have_text(["Photos"])
