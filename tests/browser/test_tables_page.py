"""Pages of tables in a real browser: what the text says stands there, it fits, and everybody can use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.membench_run import read_figures
from pytest_recall.files.sections import Section
from pytest_recall.results.report_page import memories_page
from tests.browser.conftest import Open, everybody_can_use, figures_are_told
from tests.browser.test_run_page import SIZES

if TYPE_CHECKING:
    from playwright.sync_api import Page


MARKUP = "<img src=x onerror=\"document.title='owned'\">"


def has_tables(opened: Page, told: Sequence[Section]) -> None:
    """See that each cell of these sections stands on the page, in its place."""
    assert opened.locator("section.tables > h2").all_inner_texts() == [one.title for one in told]
    shown = [table for section in told for table in section.tables]
    tables = opened.locator("section.tables table")
    assert tables.count() == len(shown)
    for at, table in enumerate(shown):
        head, *rows = (line.split("\t") for line in tables.nth(at).inner_text().splitlines())
        assert head == list(table.head)
        assert rows == [list(row) for row in table.rows]
    assert opened.locator("section.tables > p").all_inner_texts() == [note for one in told for note in one.notes]


@pytest.mark.parametrize(("size", "scheme", "scripts"), [("phone", "dark", True), ("desk", "light", False)])
def test_memories_have_their_table_and_the_tests_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: Open, size: str, scheme: str, scripts: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "run", "--dataset", "locomo", "sample", "--memory", "sqlite-fts,null", "--out", "o"]) == 0
    first, second = (read_figures(folder, folder.name) for folder in sorted(tmp_path.glob("o/*"), reverse=True))
    journals = [first, second._replace(arguments={**second.arguments, "memory": MARKUP})]
    (tmp_path / "page.html").write_text(memories_page.page(journals), encoding="utf-8")
    opened = open_page(tmp_path / "page.html", viewport=SIZES[size], color_scheme=scheme, java_script_enabled=scripts)
    has_tables(opened, memories_page.tables(journals))
    assert "<img src=x" in opened.locator("section.tables table").first.inner_text()
    assert opened.inner_text("h1") == "2 memory systems"
    if scripts:
        figures_are_told(opened, 1)
        everybody_can_use(opened)
