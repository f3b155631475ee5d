"""No view has a fault that axe-core calls serious or critical: both themes, on a phone and on a desk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.console.test_dead_letters import original_away
from tests.pictures import jpeg
from tests.stack import Stack

_GRAVE = {"serious", "critical"}


def faults(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds, with where."""
    found = Axe().run(page).response["violations"]
    return [
        {
            "rule": fault["id"],
            "help": fault["help"],
            "where": [
                (node["target"], node["failureSummary"].partition("\n")[2]) for node in fault["nodes"][:3]
            ],
        }
        for fault in found
        if fault["impact"] in _GRAVE
    ]


@pytest.fixture(scope="module")
def content(stack: Stack) -> Iterator[tuple[str, str, str]]:
    """An owner with a photo and a dead letter: owner, photo's id, task's id."""
    stack.expected.append("object-missing")
    owner = "accessible"
    key = stack.key(owner, "admin")
    photo = stack.wait_ready(stack.upload(jpeg(600, 400, seed=91), key), key)
    with original_away(stack, photo["id"]):
        stack.ask("POST", f"/v1/photos/{photo['id']}/reprocess", headers=key)
        done = stack.wait_done(photo, key)
    yield owner, photo["id"], next(task["id"] for task in done["tasks"] if task["kind"] == "preview")
    stack.ask("DELETE", f"/v1/photos/{photo['id']}", headers=key)


VIEWS = {
    "photos": ("/photos", "main img, main a"),
    "photo": ("/photos/{photo}", "main h1"),
    "queues": ("/queues", "section.queue"),
    "dead letters": ("/dead-letters?kind=preview&error_type=object-missing", "li.group img"),
    "a dead letter": ("/dead-letters?task={task}", "ol.history"),
    "system": ("/system", ".dependencies li, table.keys td"),
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_no_view_has_a_grave_fault(
    open_console: OpenConsole, content: tuple[str, str, str], width: int, dark: bool
) -> None:
    owner, photo, task = content
    page = open_console(owner, "admin", width=width, height=900, dark=dark)
    found = {}
    for name, (path, there) in VIEWS.items():
        page.goto("/#" + path.format(photo=photo, task=task))
        expect(page.locator(there).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
        if grave := faults(page):
            found[name] = grave
    for button, name in (("New key", "the form of a key"),):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        if grave := faults(page):
            found[name] = grave
    assert not found
