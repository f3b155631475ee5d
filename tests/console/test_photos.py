"""The photos' grid: uploads of every kind, live changes, filters, selecting, and what a name can't do."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from playwright.sync_api import Download, Page, Route, expect

from tests.console.conftest import OpenConsole
from tests.console.files import drop, mixed_files
from tests.console.rows import insert_photos
from tests.pictures import jpeg
from tests.stack import Stack
from tests.waiting import until


def tile(page: Page, name: str) -> str:
    """A selector for a photo's tile."""
    return f'.tile:has(.name[title="{name}"])'


def upload(stack: Stack, key: dict[str, str], seed: int, name: str) -> dict[str, str]:
    """Upload a picture under a name, beside the page."""
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return stack.upload(jpeg(seed=seed), {**key, **disposition})


def test_twenty_mixed_files_are_dropped_and_each_ends_right(
    page: Page, stack: Stack, key: dict[str, str], tmp_path: Path, expected: list[str]
) -> None:
    files = mixed_files(tmp_path)
    assert len(files) == 20
    expected.append(r"status of 415 .*/v1/photos")
    expect(page.get_by_text("No photos yet")).to_be_visible()
    drop(page, [file.path for file in files])
    panel = page.get_by_role("region", name=re.compile("uploaded|Uploading"))
    refused = [file for file in files if file.ends == "refused"]
    for file in refused:
        row = panel.get_by_role("listitem").filter(has_text=file.path.name)
        expect(row).to_contain_text("Not taken: this file is no picture.", timeout=60_000)
    expect(panel.get_by_role("heading")).to_have_text(f"{20 - len(refused)} of 20 uploaded", timeout=60_000)
    for file in files:
        if file.ends != "refused":
            found = page.locator(tile(page, file.path.name))
            expect(found).to_have_attribute("data-state", file.ends, timeout=60_000)
            if file.ends == "ready":
                expect(found.locator("img.there")).to_have_count(1)
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()
    assert len(stack.get("/v1/photos?brief=true", key).json["photos"]) == 20 - len(refused)


def test_a_folder_is_picked_and_what_systems_leave_in_it_stays_there(page: Page, tmp_path: Path) -> None:
    (tmp_path / "holiday" / "more").mkdir(parents=True)
    for number, name in enumerate(("a.jpg", "more/b.jpg", ".DS_Store", "Thumbs.db")):
        (tmp_path / "holiday" / name).write_bytes(jpeg(seed=700 + number))
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload a folder").click()
    chooser.value.set_files(tmp_path / "holiday")
    expect(page.locator(".tile")).to_have_count(2)
    expect(page.get_by_text("2 uploaded.")).to_be_visible()


def test_a_picture_is_pasted(page: Page, tmp_path: Path) -> None:
    page.evaluate(
        """async (bytes) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "pasted.jpg", {type: "image/jpeg"}));
            document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        list(jpeg(seed=710)),
    )
    expect(page.locator(tile(page, "pasted.jpg"))).to_have_attribute("data-state", "ready")


def test_what_is_uploaded_elsewhere_is_seen_without_a_reload(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    expect(page.get_by_text("No photos yet")).to_be_visible()
    page.evaluate("window.untouched = true")
    photo = upload(stack, key, 720, "elsewhere.jpg")
    found = page.locator(tile(page, "elsewhere.jpg"))
    expect(found).to_have_attribute("data-state", "ready")
    expect(found.locator("canvas.placeholder")).to_have_count(1)
    expect(found.locator("img.there")).to_have_count(1)
    stack.ask("DELETE", f"/v1/photos/{photo['id']}", headers=key)
    expect(found).to_have_count(0)
    assert page.evaluate("window.untouched") is True


def test_two_owners_do_not_see_each_other(open_console: OpenConsole, stack: Stack, owner: str) -> None:
    anna, bert = open_console(owner), open_console(f"{owner}-other")
    upload(stack, stack.key(owner), 730, "annas.jpg")
    upload(stack, stack.key(f"{owner}-other"), 731, "berts.jpg")
    expect(anna.locator(".tile .name")).to_have_text(["annas.jpg"])
    expect(bert.locator(".tile .name")).to_have_text(["berts.jpg"])


def test_another_owners_photo_is_not_there(page: Page, stack: Stack, owner: str, expected: list[str]) -> None:
    photo = upload(stack, stack.key(f"{owner}-other"), 732, "theirs.jpg")
    expected.append("status of 404 .*/v1/photos/")
    page.goto(f"/#/photos/{photo['id']}")
    expect(page.get_by_text("There is no such photo")).to_be_visible()


def test_a_name_is_text_and_runs_nothing(page: Page, stack: Stack, key: dict[str, str]) -> None:
    name = "<img src=x onerror=document.title='run'>.jpg"
    upload(stack, key, 740, name)
    expect(page.locator(".tile .name")).to_have_text(name)
    page.locator(".tile .open").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert page.locator("img[src='x']").count() == 0
    assert page.title() == f"{name} · Safelight"


def test_filters_stand_in_the_address_and_stay_over_reload_and_back(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    whole = upload(stack, key, 750, "whole.jpg")
    cut = stack.upload(jpeg(2000, 1500, seed=751)[:600], key)
    stack.wait_done(whole, key)
    stack.wait_done(cut, key)
    page.get_by_label("State").select_option("Failed")
    expect(page.locator(".tile")).to_have_count(1)
    assert page.url.endswith("#/photos?state=failed")
    expect(page.get_by_label("State")).to_be_focused()
    page.reload()
    expect(page.get_by_label("State")).to_have_value("failed")
    expect(page.locator(".tile[data-state=failed]")).to_have_count(1)
    page.go_back()
    expect(page.locator(".tile")).to_have_count(2)
    page.get_by_label("Taken from").fill("2024-02-01")
    page.get_by_label("to", exact=True).fill("2024-02-29")
    page.get_by_label("to", exact=True).press("Enter")
    expect(page.get_by_text("No photo is like that.")).to_be_visible()
    assert page.url.endswith("?taken_after=2024-02-01&taken_before=2024-03-01")


def test_several_are_selected_by_keys_and_deleted_with_their_count_confirmed(
    page: Page, stack: Stack, key: dict[str, str]
) -> None:
    for number in range(6):
        upload(stack, key, 760 + number, f"{number}.jpg")
    expect(page.locator(".tile .name")).to_have_text([f"{number}.jpg" for number in (5, 4, 3, 2, 1, 0)])
    page.locator(".tile .open").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    bar = page.get_by_role("region", name="Selection")
    expect(bar).to_contain_text("2 selected")
    page.keyboard.press("Delete")
    dialog = page.get_by_role("dialog", name="Delete 2 photos?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    bar.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete 2 photos").click()
    expect(page.locator(".tile .name")).to_have_text(["5.jpg", "2.jpg", "1.jpg", "0.jpg"])
    page.locator(".tile .select").nth(0).click()
    page.locator(".tile .select").nth(2).click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 selected")
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Control+a")
    expect(bar).to_contain_text("4 selected")
    bar.get_by_role("button", name="Reprocess").click()
    expect(page.get_by_text("4 photos to be processed anew.")).to_be_visible()
    until(lambda: _runs(stack, key) == 8)


def _runs(stack: Stack, key: dict[str, str]) -> int:
    """How many tasks were made for previews that there are photos of."""
    tasks = stack.get("/v1/tasks?kind=preview&state=completed&limit=200", key).json["tasks"]
    ids = {photo["id"] for photo in stack.get("/v1/photos?brief=true", key).json["photos"]}
    return sum(task["photo_id"] in ids for task in tasks)


def test_originals_are_downloaded_as_they_came(page: Page, stack: Stack, key: dict[str, str]) -> None:
    for number in range(2):
        upload(stack, key, 770 + number, f"original-{number}.jpg")
    expect(page.locator(".tile")).to_have_count(2)
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Control+a")
    found: list[Download] = []
    page.on("download", lambda download: found.append(download))
    with page.expect_event("download", lambda download: download.suggested_filename == "original-0.jpg"):
        page.get_by_role("button", name="Download").click()
    assert [download.suggested_filename for download in found] == ["original-1.jpg", "original-0.jpg"]
    assert Path(found[0].path()).read_bytes() == jpeg(seed=771)


def test_who_may_only_look_sees_no_button_that_changes_anything(
    open_console: OpenConsole, stack: Stack, key: dict[str, str], owner: str
) -> None:
    photo = upload(stack, key, 780, "looked-at.jpg")
    page = open_console(owner, "photos:read")
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Space")
    bar = page.get_by_role("region", name="Selection")
    expect(bar.get_by_role("button")).to_have_text(["Select all", "Clear"])
    expect(page.get_by_role("button", name="Upload files")).to_have_count(0)
    page.goto(f"/#/photos/{photo['id']}")
    expect(page.get_by_role("heading", name="looked-at.jpg")).to_be_visible()
    expect(page.locator(".photo-actions").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("button", name="Have it analysed")).to_have_count(0)


_DROP_FOLDER = """async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const file = (name) => ({ isFile: true, name, file: (take) => take(new File([bytes], name)) });
    const fails = (take, fail) => fail(new DOMException("gone", "NotFoundError"));
    const bad = { isFile: true, name: "bad.jpg", file: fails };
    const folder = (name, all) => ({
        isDirectory: true, name, createReader: () => ({ readEntries: (take) => take(all.splice(0)) }),
    });
    const tree = folder("holiday", [bad, file("good.jpg"), folder(".thumbnails", [file("small.jpg")])]);
    DataTransferItem.prototype.webkitGetAsEntry = () => tree;
    const data = new DataTransfer();
    data.items.add(new File([], "holiday"));
    const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
}"""


def test_of_a_dropped_folder_one_bad_file_is_told_and_hidden_folders_are_passed_over(page: Page) -> None:
    page.evaluate(_DROP_FOLDER, b64encode(jpeg(seed=770)).decode())
    expect(page.get_by_text("1 of what was dropped can't be read, and wasn't taken.")).to_be_visible()
    expect(page.get_by_text("1 uploaded.")).to_be_visible()
    expect(page.locator(".tile .name")).to_have_text(["good.jpg"])


def test_who_left_before_the_photos_came_asks_for_them_no_more(page: Page, expected: list[str]) -> None:
    expected.append("net::ERR_FAILED")
    held: list[Route] = []
    page.route(re.compile(r"/v1/photos\?"), lambda route: held.append(route))
    page.clock.install()
    page.reload()
    until(lambda: page.evaluate("1") == 1 and len(held) == 1)
    page.get_by_role("link", name="System").click()
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    with page.expect_event("requestfailed"):
        held[0].abort()
    page.clock.run_for(10_000)
    page.evaluate(
        "fetch('/livez').then((answer) => answer.status)"
    )  # what was asked before it has been heard of
    assert len(held) == 1


def test_all_selected_that_isnt_all_says_so(
    page: Page, stack: Stack, owner: str, expected: list[str]
) -> None:
    expected.append("status of 503")
    insert_photos(stack, owner, 70)
    page.route("**/v1/photos?*cursor=*", lambda route: route.fulfill(status=503, body="{}"))
    page.reload()
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Control+a")
    expect(page.get_by_text("Not all are selected: 60 photos could be loaded.")).to_be_visible()
    expect(page.get_by_role("region", name="Selection")).to_contain_text("60 selected")


def test_an_original_that_cannot_be_had_is_told(
    page: Page, stack: Stack, owner: str, expected: list[str]
) -> None:
    expected.append("status of 403")
    insert_photos(stack, owner, 1)
    page.route("**/original", lambda route: route.fulfill(status=403, body=""))
    page.reload()
    page.locator(".tile .open").first.click()
    page.get_by_role("button", name="Download").click()
    expect(page.locator(".message.bad")).to_contain_text("The service answered 403.")


def test_a_click_that_ends_a_filter_counts(page: Page, stack: Stack, owner: str) -> None:
    insert_photos(stack, owner, 3)
    page.reload()
    expect(page.locator(".tile")).to_have_count(3)
    page.get_by_label("Taken from").fill("2030-01-01")
    page.locator(".tile .open").first.click(delay=300)
    expect(page.get_by_role("heading", level=1)).to_have_text("IMG_00000.jpg")
    page.go_back()
    page.get_by_label("Taken from").fill("2030-01-01")
    page.get_by_role("heading", name="Photos").click(delay=300)
    expect(page.get_by_text("No photo is like that.")).to_be_visible()
