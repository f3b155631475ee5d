"""A page that stays open while the service goes and comes back."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.console.conftest import ALL_SCOPES, OpenConsole
from tests.console.files import drop
from tests.flows.farm import Farm
from tests.pictures import jpeg

AWAY = "The service doesn't answer. Trying again…"


def test_the_page_recovers_by_itself_when_the_api_restarts(
    folder: Path, open_console: OpenConsole, expected: list[str]
) -> None:
    # What a browser says of connections that are refused or break off, and of a service that is starting.
    expected += ["net::ERR_", "status of 503"]
    with Farm(folder, workers=1) as farm:
        key = farm.key("anna", *ALL_SCOPES)
        farm.wait_ready(farm.upload(jpeg(seed=900), key), key)
        page = open_console("anna", of=farm)
        expect(page.locator(".tile[data-state=ready]")).to_have_count(1)
        page.evaluate("window.untouched = true")
        farm.stop("api")
        away = page.locator("#connection")
        expect(away).to_have_text(AWAY, timeout=20_000)
        (folder / "meanwhile.jpg").write_bytes(jpeg(seed=901))
        drop(page, [folder / "meanwhile.jpg"])
        row = page.locator(".uploads-list li")
        expect(row).to_contain_text("The service doesn't answer. Again in")
        farm.start("api", "gunicorn", "app:create_app()")
        expect(away).to_have_text("", timeout=40_000)
        expect(page.locator(".tile[data-state=ready]")).to_have_count(2, timeout=40_000)
        beside = farm.upload(jpeg(seed=902), key)
        expect(page.locator(f".tile[data-id='{beside['id']}'][data-state=ready]")).to_have_count(1)
        assert page.evaluate("window.untouched") is True


def test_a_view_that_was_opened_meanwhile_recovers_too(
    folder: Path, open_console: OpenConsole, expected: list[str]
) -> None:
    expected += ["net::ERR_", "status of 503", "dynamically imported module"]
    with Farm(folder, workers=1) as farm:
        page = open_console("anna", "admin", of=farm)
        expect(page.get_by_role("heading", name="Photos", exact=True)).to_be_visible()
        farm.stop("api")
        page.get_by_role("link", name="Queues").click()
        expect(page.get_by_role("alert")).to_contain_text("can't be fetched")
        farm.start("api", "gunicorn", "app:create_app()")
        expect(page.get_by_role("heading", name="Queues")).to_be_visible(timeout=40_000)
        expect(page.locator(".workers li")).to_have_count(1)
