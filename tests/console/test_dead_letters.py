"""Dead letters in the browser: found, looked into, requeued once their cause is mended, or given up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until


@contextmanager
def original_away(stack: Stack, photo_id: str) -> Iterator[None]:
    """The photo's original isn't in the store meanwhile."""
    [(key,)] = stack.query("SELECT original_key FROM photos WHERE id = CAST(:id AS uuid)", id=photo_id)
    path = Path(urlsplit(stack.settings.storage_url).path) / key
    aside = path.with_suffix(".aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


@pytest.fixture
def failed(stack: Stack, key: dict[str, str]) -> Iterator[list[str]]:
    """Two photos that couldn't be made anew, their originals being away; they are back."""
    stack.expected.append("object-missing")
    ids = [stack.wait_ready(stack.upload(jpeg(60, 40, seed=seed), key), key)["id"] for seed in (81, 82)]
    for photo_id in ids:
        with original_away(stack, photo_id):
            stack.ask("POST", f"/v1/photos/{photo_id}/reprocess", headers=key)
            assert stack.wait_done({"id": photo_id}, key)["state"] == "failed"
    yield ids
    stack.ask(
        "POST",
        "/v1/tasks/discard",
        body=b'{"error_type": "object-missing"}',
        headers={**key, "Content-Type": "application/json"},
    )


def test_a_failed_photo_is_found_and_requeued_and_ready(
    page: Page, stack: Stack, key: dict[str, str], failed: list[str]
) -> None:
    page.goto("/#/dead-letters?kind=preview&error_type=object-missing")
    expect(page.get_by_role("link", name="Show not only Preview")).to_be_visible()
    section = page.get_by_role("region", name="object-missing")
    expect(section).to_contain_text("The original isn't in the store any more.")
    expect(section).to_contain_text("2 tasks")
    section.get_by_role("button", name="Requeue all of object-missing").click()
    dialog = page.get_by_role("dialog", name="Requeue 2 tasks?")
    dialog.get_by_role("button", name="Requeue 2").click()
    progress = page.get_by_role("region", name="Requeued tasks")
    expect(progress).to_contain_text("2 tasks requeued.")
    expect(progress).to_contain_text("2 completed", timeout=30_000)
    expect(page.get_by_text("Nothing that failed is like this.")).to_be_visible()
    page.reload()  # the progress stays
    expect(progress).to_contain_text("2 completed")

    page.get_by_role("link", name="Show not only Preview").click()
    expect(page.get_by_role("region", name="object-missing")).to_contain_text("EXIF")
    section.get_by_role("button", name="Requeue EXIF").click()
    page.get_by_role("dialog").get_by_role("button", name="Requeue 2").click()
    photos = [f"/v1/photos/{photo_id}" for photo_id in failed]
    until(lambda: all(stack.get(photo, key).json["state"] == "ready" for photo in photos), timeout_s=30)


def test_one_is_looked_into_and_requeued(page: Page, failed: list[str], expected: list[str]) -> None:
    page.goto("/#/dead-letters?kind=exif&error_type=object-missing")
    page.get_by_role("region", name="object-missing").locator("p.said").get_by_role("link").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name=failed[0][:8]).click()
    expect(page.get_by_role("heading", name="EXIF task")).to_be_visible()
    expect(page.get_by_text("failed for good")).to_be_visible()
    page.get_by_text("Where in the code").click()
    expect(page.locator("pre")).to_contain_text("Traceback")
    page.get_by_role("button", name="Requeue").click()
    expect(page.get_by_role("status").filter(has_text="completed")).to_be_visible(timeout=30_000)
    expect(page.locator("pre").first).to_be_visible()  # the fold stays open
    page.route("**/v1/tasks/*", lambda route: route.fulfill(status=503, body="{}"))
    expected.append("status of 503")
    expect(page.get_by_text("What is shown is old:")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("row")).to_have_count(2)


def test_what_is_discarded_is_asked_for_first(page: Page, stack: Stack, failed: list[str]) -> None:
    page.goto("/#/dead-letters?error_type=object-missing")
    section = page.get_by_role("region", name="object-missing")
    discard = section.get_by_role("button", name="Discard EXIF")
    discard.click()
    page.get_by_role("dialog", name="Discard 2 tasks?").press("Escape")
    expect(section).to_contain_text("4 tasks")
    discard.click()
    page.get_by_role("dialog").get_by_role("button", name="Discard 2").click()
    expect(discard).to_have_count(0)
    states = stack.query(
        "SELECT DISTINCT state FROM tasks WHERE subject = ANY(CAST(:ids AS uuid[])) AND kind = 'exif'"
        " AND error_type = 'object-missing'",
        ids=failed,
    )
    assert states == [("discarded",)]


def test_the_newest_photo_of_a_group_is_shown(page: Page, failed: list[str]) -> None:
    page.goto("/#/dead-letters?kind=exif&error_type=object-missing")
    picture = page.locator(".sample img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def begin_requeue(page: Page) -> None:
    """Requeue both EXIF tasks."""
    page.goto("/#/dead-letters?kind=exif&error_type=object-missing")
    page.get_by_role("button", name="Requeue all of object-missing").click()
    page.get_by_role("dialog").get_by_role("button", name="Requeue 2").click()


def told_as(route: Route, outcomes: dict[str, int], remaining: int) -> None:
    """Pass on an answer to a requeue with other figures in it."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "outcomes": outcomes, "remaining": remaining})


@pytest.mark.usefixtures("failed")
def test_a_reload_interrupts_a_requeue_and_says_so(page: Page) -> None:
    held: list[Route] = []

    def answer(route: Route) -> None:
        if (route.request.post_data_json or {}).get("dry_run"):
            route.continue_()
        elif held:
            held.append(route)  # it waits while the page is left
        else:
            held.append(route)
            told_as(route, {"requeued": 1}, remaining=1)

    page.route("**/v1/tasks/requeue", answer)
    begin_requeue(page)
    progress = page.get_by_role("region", name="Requeued tasks")
    expect(progress).to_contain_text("1 of 2 dealt with…")
    page.reload()
    expect(progress).to_contain_text("Interrupted when the page was left: 1 of 2 requeued.")


@pytest.mark.usefixtures("failed")
def test_only_what_had_a_newer_task_is_told_to_have_one(page: Page) -> None:
    def answer(route: Route) -> None:
        if (route.request.post_data_json or {}).get("dry_run"):
            route.continue_()
        else:
            told_as(route, {"requeued": 1, "unchanged": 1}, remaining=0)

    page.route("**/v1/tasks/requeue", answer)
    begin_requeue(page)
    words = page.get_by_role("region", name="Requeued tasks").get_by_role("status")
    expect(words).to_have_text("1 task requeued.")
    page.reload()
    expect(words).to_have_text("1 task requeued.")
