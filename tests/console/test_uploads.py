"""Uploads under way: four at once, cancelled, tried again, and not lost by leaving the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.console.conftest import OpenConsole
from tests.console.files import drop
from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until

UPLOADS = "**/v1/photos"


@pytest.fixture
def six(tmp_path: Path) -> list[Path]:
    """Six pictures."""
    paths = [tmp_path / f"{number}.jpg" for number in range(6)]
    for number, path in enumerate(paths):
        path.write_bytes(jpeg(seed=950 + number))
    return paths


def test_four_go_at_once_and_one_or_all_are_cancelled(
    page: Page, six: list[Path], stack: Stack, key: dict[str, str], expected: list[str]
) -> None:
    expected.append("net::ERR_")
    held: list[Route] = []
    page.route(UPLOADS, lambda route: held.append(route))
    drop(page, six)
    rows = page.locator(".uploads-list li")
    expect(rows).to_have_count(6)
    expect(page.locator(".uploads-list li[data-state=sending]")).to_have_count(4)
    assert len(held) == 4
    page.get_by_role("button", name="Cancel 1.jpg").click()
    expect(rows).to_have_count(5)
    until(lambda: page.evaluate("1") == 1 and len(held) == 5)
    page.get_by_role("button", name="Cancel all").click()
    expect(page.locator(".uploads")).to_be_hidden()
    assert stack.get("/v1/photos?brief=true", key).json["photos"] == []


def test_leaving_the_page_asks_while_uploads_run(page: Page, six: list[Path]) -> None:
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    held: list[Route] = []
    page.route(UPLOADS, lambda route: held.append(route))
    page.get_by_role("heading", name="Photos").click()  # a browser asks only where someone has done something
    drop(page, six)
    expect(page.locator(".uploads-list li[data-state=sending]")).to_have_count(4)
    page.evaluate("setTimeout(() => location.assign('/sign-in'))")
    until(lambda: page.evaluate("1") == 1 and asked == ["beforeunload"])
    expect(page.locator(".uploads")).to_be_visible()
    page.get_by_role("button", name="Cancel all").click()


def test_what_passes_is_tried_again_when_the_service_said_and_the_rest_is_not(
    page: Page, six: list[Path], expected: list[str]
) -> None:
    expected += ["status of 503", "status of 413"]
    answers = {"0.jpg": (413, '{"code": "upload-too-large"}'), "1.jpg": (503, '{"code": "store-away"}')}
    asked: list[str] = []

    def answer(route: Route) -> None:
        name = route.request.headers["content-disposition"].rpartition("''")[2]
        asked.append(name)
        status, body = answers.get(name, (0, ""))
        if status and not (name == "1.jpg" and asked.count(name) == 2):
            headers = {"Retry-After": "1", "Content-Type": "application/problem+json"}
            route.fulfill(status=status, body=body, headers=headers)
        else:
            route.continue_()

    page.route(UPLOADS, answer)
    drop(page, six[:3])
    rows = page.locator(".uploads-list li")
    expect(rows.filter(has_text="1.jpg")).to_contain_text(re.compile(r"The store is away. Again in [12] s\."))
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Not taken: the file is larger than is allowed here.")
    expect(page.locator(".uploads h2")).to_have_text("2 of 3 uploaded")
    expect(page.locator(".tile")).to_have_count(2)
    assert (asked.count("0.jpg"), asked.count("1.jpg"), asked.count("2.jpg")) == (1, 2, 1)


def test_a_key_that_may_only_upload_can_choose_files(
    open_console: OpenConsole, owner: str, tmp_path: Path
) -> None:
    (tmp_path / "photo.jpg").write_bytes(jpeg(seed=17))
    page = open_console(owner, "photos:write", width=360)
    page.locator("input[type=file]").first.set_input_files(tmp_path / "photo.jpg")
    expect(page.get_by_text("1 uploaded").first).to_be_visible()
