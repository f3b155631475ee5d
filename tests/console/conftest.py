"""The console in Debian's Chromium, over the whole service; what the browser complains of fails the test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.stack import Stack

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ALL_SCOPES = ("photos:write", "photos:read", "originals:read", "admin")
_WAIT_MS = 15_000

OpenConsole = Callable[..., Page]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for a page needs a browser: no test can forget to say so."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests; each page has a profile of its own."""
    if not CHROMIUM.exists():
        if os.environ.get("CI"):
            pytest.fail(f"there is no browser at {CHROMIUM}")
        pytest.skip(f"there is no browser at {CHROMIUM} (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def expected() -> list[str]:
    """Patterns of what the browser will complain of with reason: an answer 415, say. A test adds its own."""
    return []


@pytest.fixture
def open_console(browser: Browser, stack: Stack, expected: list[str]) -> Iterator[OpenConsole]:
    """Signs someone in on a browser of their own and gives the page:

        open_console("anna", "photos:read", width=360, height=740, dark=True, of=another_stack)

    Without scopes named, with all. At the end no page may have complained: of a script's error, of a breach
    of the Content-Security-Policy, of a file that isn't there.
    """
    complaints: list[str] = []
    contexts = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} ({message.location.get('url')})")

    def open_(
        owner: str,
        *scopes: str,
        width: int = 1280,
        height: int = 800,
        scale: float = 1,
        dark: bool = False,
        of: Stack = stack,
    ) -> Page:
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{of.settings.port}",
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        contexts.append(context)
        context.set_default_timeout(_WAIT_MS)
        page = context.new_page()
        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        sign_in(page, of.key(owner, *(scopes or ALL_SCOPES)))
        return page

    yield open_
    for context in contexts:
        context.close()
    unexpected = [text for text in complaints if not any(re.search(pattern, text) for pattern in expected)]
    assert not unexpected, "the browser complains:\n" + "\n".join(unexpected)


@pytest.fixture
def owner() -> str:
    """An owner whom nobody had before."""
    return f"owner-{uuid4().hex[:8]}"


@pytest.fixture
def key(stack: Stack, owner: str) -> dict[str, str]:
    """Headers with a key of the page's owner, for what is done beside the page."""
    return stack.key(owner, *ALL_SCOPES)


@pytest.fixture
def page(open_console: OpenConsole, owner: str) -> Page:
    """The console, signed in for `owner`, who may do everything."""
    return open_console(owner)


def sign_in(page: Page, key: dict[str, str]) -> None:
    """Paste a key into the sign-in page, as a person does."""
    page.goto("/sign-in")
    page.get_by_label("API key").fill(key["Authorization"].removeprefix("Bearer "))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"/(#/.*)?$"))
