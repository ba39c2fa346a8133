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
    *("--renderer-process-limit=1", "--in-process-gpu", "--disable-software-rasterizer"),
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


def follow(opened: Page, fragment: str) -> None:
    """Go to another fragment of the page, and wait until the dialog that it opens is there."""
    opened.evaluate("to => { location.hash = to }", fragment)
    opened.wait_for_selector("dialog")


def close(opened: Page) -> None:
    """Press Escape, and wait until the dialog is gone."""
    opened.keyboard.press("Escape")
    opened.wait_for_selector("dialog", state="hidden")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium. Nothing is downloaded: where there is none, these tests are skipped.

    Its event loop is that of the thread as long as it is open, so that it is closed before tests of other folders.
    """
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium here, so that no page was tested in a browser; on Debian: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing; install `pytest-recall[dev]`")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=ALONE)
        yield chromium
        chromium.close()


def figures_are_told(opened: Page, count: int) -> None:
    """See that so many figures are drawn, each with a name and a table of its numbers."""
    figures = opened.locator("figure.chart")
    assert figures.count() == count
    for at in range(count):
        figure = figures.nth(at)
        figure.locator("svg").first.wait_for()
        assert figure.locator("[role=img]").get_attribute("aria-label") == figure.locator("h3").inner_text()
        assert figure.locator("table tbody tr").count() > 0


def everybody_can_use(opened: Page, part: str | None = None) -> None:
    """See that nothing scrolls sideways, and that axe knows nothing against it: contrast, names, roles, landmarks.

    Where a `part` is named, which has come since, axe looks at that alone.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing; install the extra `dev`")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if not opened.evaluate("'axe' in window"):  # It is a megabyte, of which a page needs one.
        opened.evaluate(axe.Axe().axe_script)
    asked = "part => axe.run(part ?? document, {resultTypes: ['violations']}).then(found => found.violations)"
    found = opened.evaluate(asked, part)
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []


Events = tuple["Page", list[str], list[str]]
"""A page, what it complained of, and what it asked for."""


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[Callable[..., Events]]:
    """Give a tab for pages with these options: to make one takes longer than a page in it."""
    made: dict[str, Events] = {}

    def tab(**options: Any) -> Events:
        if (key := str(options)) not in made:
            context = browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            page, complaints, asked = made[key] = context.new_page(), [], []
            page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
        return made[key]

    yield tab
    for page, _, _ in made.values():
        page.context.close()


@pytest.fixture
def open_page(tabs: Callable[..., Events]) -> Iterator[Open]:
    """Open a page; at the end nothing was complained of, and nothing else was asked for."""
    opened: list[Events] = []

    def open(path: Path, fragment: str = "", **options: Any) -> Page:
        desk = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
        page, complaints, asked = events = tabs(**desk | options)
        page.goto("about:blank")  # From one fragment of a page to another it would not be loaded.
        complaints.clear()
        asked.clear()
        opened.append(events)
        page.goto(path.as_uri() + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        assert (complaints, len(asked)) == ([], 1)
        return page

    yield open
    for page, complaints, asked in opened:
        assert complaints == []
        assert [url for url in asked if not url.startswith("file://")] == []
        assert len(asked) == 1, (page.url, asked)
