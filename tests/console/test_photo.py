"""One photo: large, its keys, its metadata in words, and what was done with it."""

from __future__ import annotations

import re
from fractions import Fraction

from playwright.sync_api import Page, Route, expect

from tests.console.conftest import OpenConsole
from tests.imaging.pictures import ASCII, RATIONAL, SHORT, exif, jpeg_with, noise
from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until

GPS = [(1, ASCII, "N"), (2, RATIONAL, [48, 30, 0]), (3, ASCII, "E"), (4, RATIONAL, [9, 15, 0])]
TAKEN = jpeg_with(
    [
        b"Exif\0\0"
        + exif(
            [(0x10F, ASCII, "Canon"), (0x110, ASCII, "Canon EOS R5")],
            [
                (0x829A, RATIONAL, Fraction(1, 250)),
                (0x829D, RATIONAL, Fraction(28, 10)),
                (0x8827, SHORT, 400),
                (0x9003, ASCII, "2024:02:29 12:00:00"),
                (0x920A, RATIONAL, Fraction(35)),
            ],
            GPS,
        )
    ],
    noise(2200, 1500),
)


def uploaded(stack: Stack, key: dict[str, str], data: bytes, name: str) -> dict[str, str]:
    """A photo that is done, one way or the other."""
    headers = {**key, "Content-Disposition": f'attachment; filename="{name}"'}
    return stack.wait_done(stack.upload(data, headers), key)


def facts(page: Page) -> dict[str, str]:
    """What the page says of the photo."""
    rows = page.locator(".photo-side > .card").first.locator("dt")
    expect(rows.first).to_be_visible()
    texts = page.locator(".photo-side > .card").first.locator("dt, dd").all_inner_texts()
    return dict(zip(texts[::2], texts[1::2], strict=True))


def test_metadata_is_told_in_words_and_all_tags_can_be_searched(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    photo = uploaded(stack, key, TAKEN, "taken.jpg")
    page.goto(f"/#/photos/{photo['id']}")
    told = facts(page)
    assert told["Camera"] == "Canon EOS R5"
    assert told["Exposure"] == "1/250 s · f/2.8 · ISO 400"
    assert told["Focal length"] == "35 mm"
    assert told["Taken"].startswith("Thursday 29 February 2024") or "29 February 2024" in told["Taken"]
    assert told["Place"].startswith("48.50000° N, 9.25000° E")
    assert told["Size"] == "2200 × 1500 px"
    page.get_by_text("All tags").click()
    page.get_by_label("Search the tags").fill("fnumber")
    expect(page.locator(".tags tr:visible")).to_have_count(1)
    expect(page.locator(".tags tr:visible")).to_contain_text("EXIF FNumber")


def test_the_map_is_asked_only_when_it_is_wanted(page: Page, stack: Stack, key: dict[str, str]) -> None:
    photo = uploaded(stack, key, TAKEN, "taken.jpg")
    outside: list[tuple[str, str | None]] = []
    ours = f"http://127.0.0.1:{stack.settings.port}/"

    def answer(route: Route) -> None:
        outside.append((route.request.url, route.request.headers.get("referer")))
        route.fulfill(body="a map")

    page.context.route(lambda url: not url.startswith(ours), answer)
    page.goto(f"/#/photos/{photo['id']}")
    button = page.get_by_role("button", name="Show on OpenStreetMap")
    expect(button).to_be_visible()
    expect(page.locator(".large-picture img.there")).to_be_visible()
    assert outside == []
    with page.expect_popup() as popup:
        button.click()
    popup.value.wait_for_load_state()
    [(address, referer)] = outside
    assert re.match(r"https://www\.openstreetmap\.org/\?mlat=48\.5&mlon=9\.25#?", address)
    assert referer is None


def test_the_preview_fits_the_screen(open_console: OpenConsole, stack: Stack, owner: str) -> None:
    key = stack.key(owner)
    photo = uploaded(stack, key, TAKEN, "taken.jpg")
    for width, scale, size in ((360, 1, "medium"), (1600, 1, "medium"), (1600, 2, "large")):
        page = open_console(owner, width=width, height=1000, scale=scale)
        page.goto(f"/#/photos/{photo['id']}")
        image = page.locator(".large-picture img.there")
        expect(image).to_be_visible()
        assert f"/previews/{size}?" in image.evaluate("(image) => image.currentSrc"), (width, scale)


def test_arrow_keys_walk_and_escape_goes_back_to_where_one_was(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    for number in range(3):
        uploaded(stack, key, jpeg(seed=800 + number), f"{number}.jpg")
    title = page.get_by_role("heading", level=1)
    expect(page.locator(".tile")).to_have_count(3)
    page.locator(".tile .open").first.click()
    expect(title).to_have_text("2.jpg")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("1.jpg")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("0.jpg")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("1.jpg")
    page.reload()
    expect(title).to_have_text("1.jpg")
    expect(page.get_by_label("Older photo")).to_have_attribute("href", re.compile("#/photos/"))
    page.keyboard.press("Escape")
    expect(page.locator(".tile .open:focus .name")).to_have_text("1.jpg")
    page.keyboard.press("Enter")
    expect(title).to_have_text("1.jpg")
    page.go_back()
    expect(page.locator(".tile")).to_have_count(3)


def test_neighbours_are_those_of_the_filter(page: Page, stack: Stack, key: dict[str, str]) -> None:
    uploaded(stack, key, jpeg(2000, 1500)[:600], "cut-0.jpg")
    uploaded(stack, key, jpeg(seed=811), "whole.jpg")
    uploaded(stack, key, jpeg(2000, 1400)[:600], "cut-1.jpg")
    page.goto("/#/photos?state=failed")
    expect(page.locator(".tile")).to_have_count(2)
    page.locator(".tile .open").first.click()
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text("cut-1.jpg")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("cut-0.jpg")
    page.keyboard.press("Escape")
    expect(page.locator(".tile")).to_have_count(2)


def test_a_failure_is_told_in_plain_words_with_the_trace_behind_a_fold(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    photo = uploaded(stack, key, jpeg(2000, 1500, seed=820)[:600], "cut.jpg")
    page.goto(f"/#/photos/{photo['id']}")
    done = page.get_by_role("region", name="What was done")
    expect(done.get_by_role("heading", name="Previews")).to_contain_text("Failed")
    expect(done).to_contain_text("The file ends before anything can be shown")
    expect(done).to_contain_text(re.compile(r"Waited.*Attempt 1: failed", re.DOTALL))
    trace = done.locator("pre")
    expect(trace).to_be_hidden()
    done.get_by_text("Where in the program").click()
    expect(trace).to_contain_text("Traceback")


def test_reprocessing_is_seen_live_and_deletion_leads_on(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    for number in range(2):
        uploaded(stack, key, jpeg(seed=830 + number), f"{number}.jpg")
    expect(page.locator(".tile")).to_have_count(2)
    page.locator(".tile .open").first.click()
    done = page.get_by_role("region", name="What was done")
    expect(done.locator("article")).to_have_count(2)
    page.get_by_role("button", name="Reprocess").click()
    expect(done.locator("article")).to_have_count(4)
    expect(done.locator("article .badge.completed")).to_have_count(4)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("0.jpg")
    assert len(stack.get("/v1/photos?brief=true", key).json["photos"]) == 1


def test_a_photo_that_goes_while_one_looks_says_so(page: Page, stack: Stack, key: dict[str, str]) -> None:
    photo = uploaded(stack, key, jpeg(seed=840), "gone.jpg")
    page.locator(".tile .open").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("gone.jpg")
    stack.ask("DELETE", f"/v1/photos/{photo['id']}", headers=key)
    expect(page.get_by_text("There is no such photo")).to_be_visible()


def test_without_an_analysis_service_the_button_says_so(
    page: Page, stack: Stack, key: dict[str, str], expected: list[str]
) -> None:
    photo = uploaded(stack, key, jpeg(seed=850), "analysed.jpg")
    expected.append("status of 409 .*/analysis")
    page.goto(f"/#/photos/{photo['id']}")
    page.get_by_role("button", name="Have it analysed").click()
    expect(page.get_by_text("There is no analysis service here")).to_be_visible()


def test_who_went_elsewhere_while_a_photo_is_deleted_stays_there(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    for number in range(2):
        uploaded(stack, key, jpeg(seed=860 + number), f"{number}.jpg")
    held: list[Route] = []
    page.route(
        "**/v1/photos/*",
        lambda route: held.append(route) if route.request.method == "DELETE" else route.fallback(),
    )
    page.locator(".tile .open").first.click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    until(lambda: page.evaluate("1") == 1 and len(held) == 1)
    page.get_by_role("link", name="System").click()
    held[0].continue_()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    assert page.evaluate("location.hash") == "#/system"


_HEAR_READY = """() => new Promise((begun) => {
    const stream = new EventSource("/v1/events");
    const first = new Promise((heard) => stream.addEventListener("photo-ready", heard));
    window.ready = first.then(() => stream.close());
    stream.onopen = begun;
})"""


def test_an_old_answer_isnt_drawn_over_a_newer_one(page: Page, stack: Stack, key: dict[str, str]) -> None:
    photo = uploaded(stack, key, jpeg(seed=870), "old.jpg")
    address = f"/v1/photos/{photo['id']}"
    held: list[Route] = []
    tile = page.locator(".tile .open").first
    tile.wait_for()  # what draws it may wait for the clock
    page.clock.install()
    page.route(f"**{address}", lambda route: held.append(route), times=1)
    tile.click()
    until(lambda: page.evaluate("1") == 1 and len(held) == 1)
    old = held[0].fetch()
    page.evaluate(_HEAR_READY)
    rename = "UPDATE photos SET filename = 'new.jpg' WHERE id = CAST(:id AS uuid) RETURNING 1"
    stack.query(rename, id=photo["id"])
    stack.ask("POST", f"{address}/reprocess", headers=key)
    page.evaluate("ready")
    page.clock.run_for(1000)  # the view looks again, or will once it has the first answer
    page.evaluate("fetch('/livez').then((answer) => answer.status)")
    held[0].fulfill(response=old)
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text("new.jpg")
    expect(page.get_by_role("region", name="What was done").locator("article")).to_have_count(4)
    expect(title).to_have_text("new.jpg")
