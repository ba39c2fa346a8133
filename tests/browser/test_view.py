"""`recall view` in a real browser: the page follows the run, and does not take away what someone is reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.results.view_commands import Server
from pytest_recall.trials.journal import write_journal
from pytest_recall.trials.record import Record
from tests.helpers.reports import sample
from tests.helpers.viewing import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RECORD = sample().record


def write(project: Path, trials: int) -> None:
    """Write the journal of a run that has come so far."""
    folder = project / "eval" / "_artifacts" / RECORD.header.run
    folder.mkdir(parents=True, exist_ok=True)
    write_journal(folder, Record(RECORD.header, RECORD.trials[:trials]))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of a run that has come to its first trial."""
    write(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    with serving("2026-03-10") as made:
        yield made


def test_the_page_follows_the_run(server: Server, browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    # It asks every two seconds, and these are over as soon as they are told to be.
    context.clock.install()
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))
    page.goto(f"{server.address}#scenario=hours")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#shown") == "0 of 10 cases"
    write(tmp_path, 4)
    page.clock.run_for(2000)
    page.wait_for_selector("#shown:has-text('1 of 10 cases')")
    page.click("#regressions article a")
    write(tmp_path, 7)
    page.clock.run_for(2000)
    page.wait_for_selector("#fresh:not([hidden])", state="attached")
    page.wait_for_selector("dialog")
    page.keyboard.press("Escape")
    page.clock.run_for(2000)
    page.wait_for_selector("#shown:has-text('3 of 10 cases')")
    assert complaints == []
    assert {url.partition("#")[0] for url in asked} == {server.address, f"{server.address}stamp"}
    context.close()
