"""A Chromium without a screen, and pages in it that must neither complain nor ask anybody for anything."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# It asks its maker for updates, lists and the like otherwise.
ALONE = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions"),
)
Open = Callable[..., "Page"]
PATIENCE = 20_000
"""Milliseconds: a page tells what was done to it in tasks of its own, which a busy machine runs late."""


def soon(opened: Page, read: Callable[[Page], Any], expected: Any) -> None:
    """Wait until `read(opened)` gives what is expected; that is the assertion."""
    for _ in range(PATIENCE // 20):
        if read(opened) == expected:
            return
        opened.wait_for_timeout(20)
    assert read(opened) == expected


def close(opened: Page) -> None:
    """Press Escape, and wait until the dialog is gone."""
    opened.keyboard.press("Escape")
    opened.wait_for_selector("dialog", state="hidden")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium. Nothing is downloaded: where there is none, these tests are skipped.

    Its event loop is that of the thread as long as it is open, so that it is closed before tests of other modules.
    """
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium here, so that no page was tested in a browser; on Debian: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing; install `pytest-recall[dev]`")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=ALONE)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a page in a profile of its own; at the end nothing was complained of, and nothing else was asked for."""
    complaints: list[str] = []
    asked: list[str] = []
    contexts = []

    def open(path: Path, fragment: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        return page

    yield open
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("file://")] == []
    assert len(asked) == len(contexts), asked
