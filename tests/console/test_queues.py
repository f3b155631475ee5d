"""The queues in the browser: what is told of them, and their switches."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from db.session import Database
from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until


def card(page: Page, title: str) -> Locator:
    """A queue's card."""
    return page.get_by_role("region", name=title)


def paused(stack: Stack, name: str) -> bool:
    """Whether the database has it paused."""
    return stack.query("SELECT paused FROM queues WHERE name = :name", name=name) == [(True,)]


def test_a_queue_is_paused_and_resumed(page: Page, stack: Stack, key: dict[str, str]) -> None:
    page.goto("/#/queues")
    exif = card(page, "EXIF")
    exif.get_by_role("button", name="Pause EXIF").click()
    try:
        expect(exif.get_by_text("Paused")).to_be_visible()
        assert paused(stack, "exif")
        photo = stack.upload(jpeg(40, 30, seed=71), key)
        waiting = exif.locator("div.pending dd")
        expect(waiting).to_have_text("1")
    finally:
        exif.get_by_role("button", name="Resume EXIF").click()
    expect(exif.get_by_text("Paused")).to_have_count(0)
    stack.wait_ready(photo, key)
    expect(waiting).to_have_text("0")
    assert not paused(stack, "exif")


def test_a_queue_gets_a_bound_and_loses_it(page: Page, stack: Stack) -> None:
    page.goto("/#/queues")
    exif = card(page, "EXIF")
    button = exif.get_by_role("button", name="Bound")
    button.click()
    speed = page.get_by_label("Tasks begun a second, at most")
    speed.fill("2.5")
    speed.press("Enter")
    expect(exif.get_by_text("At most 2.5 a second")).to_be_visible()
    button.click()
    expect(speed).to_have_value("2.5")
    speed.fill("")
    page.get_by_role("button", name="Set").click()
    expect(exif.get_by_text("At most")).to_have_count(0)
    assert stack.query("SELECT rate_per_s FROM queues WHERE name = 'exif'") == [(None,)]


def test_a_workers_task_in_hand_is_seen_and_for_how_long(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    page.goto("/#/queues")
    preview = card(page, "Preview")
    preview.get_by_role("button", name="Pause Preview").click()
    expect(preview.get_by_text("Paused")).to_be_visible()
    photo = stack.upload(jpeg(40, 30, seed=72), key)
    database = Database(stack.settings.database_url, pool_size=1)
    item = page.get_by_role("listitem").filter(has_text=f"Preview of photo {photo['id'][:8]} for")
    with database.transaction() as tx:  # who holds the photo keeps its task from ending
        tx.execute("SELECT FROM photos WHERE id = CAST(:id AS uuid) FOR UPDATE", {"id": photo["id"]})
        preview.get_by_role("button", name="Resume Preview").click()
        expect(item.last).to_be_visible()
        expect(page.get_by_text("of 4 busy")).not_to_have_text("alive, 0 of 4 busy")
    database.close()
    stack.wait_ready(photo, key)
    expect(item).to_have_count(0)


def test_the_last_quarter_of_an_hour_is_there_at_once_and_in_words(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    stack.wait_ready(stack.upload(jpeg(40, 30, seed=73), key), key)
    # the step that goes on isn't shown: let these tasks have ended in the one before
    stack.query(
        "UPDATE tasks SET finished_at = finished_at - interval '16 s' WHERE state = 'completed' RETURNING 1"
    )
    page.goto("/#/queues")
    chart = card(page, "EXIF").get_by_role("img", name="Completed a second in the last 15 minutes")

    def shown() -> bool:
        page.reload()
        return " 0/s at most" not in (chart.get_attribute("aria-label") or " 0/s at most")

    until(shown, timeout_s=20)
    expect(chart.locator("polyline.stroke")).to_have_count(1)


def test_a_hidden_page_asks_for_nothing(page: Page) -> None:
    asked: list[str] = []
    page.clock.install()
    page.goto("/#/queues")
    expect(card(page, "EXIF")).to_be_visible()
    # Chromium without a window never hides a page: say it as a browser does.
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true});"
        "window.away = true; document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(60_000)
    assert [url for url in asked if "/v1/queues" in url] == []
    with page.expect_request("**/v1/queues"):
        page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
