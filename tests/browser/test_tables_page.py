"""Pages of tables in a real browser: what the text says stands there, it fits, and everybody can use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.membench_run import read_figures
from pytest_recall.files.wording import TableSection
from pytest_recall.horizon.leaderboard import boards, charts, closing, sections
from pytest_recall.results.report_page import memories_page
from pytest_recall.results.report_page.tables_page import page
from tests.browser.conftest import Open, everybody_can_use, figures_are_told
from tests.browser.test_run_page import SIZES
from tests.helpers.horizon_runs import MADE_UP, RIGHT, SMALL, Asked, run_of
from tests.helpers.reports import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

RUNS = [
    replace(run_of({**SMALL, 30: [Asked(id="q001", score=score)]}, usd=usd), name=f"runs/{name}", adapter=name)
    for name, score, usd in (("good", RIGHT, 1.5), (HOSTILE, MADE_UP, None))
]
BOARDS = boards([*RUNS, run_of({10: [Asked(id="other", score=RIGHT)]})])


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "board.html"
    path.write_text(page("Leaderboard", "3 runs", sections(BOARDS), closing(BOARDS), charts(BOARDS)), encoding="utf-8")
    return path


def has_tables(opened: Page, told: Sequence[TableSection]) -> None:
    """See that each cell of these sections stands on the page, in its place."""
    assert opened.locator("section.tables > h2").all_inner_texts() == [one.title for one in told]
    shown = [table for section in told for table in section.tables]
    tables = opened.locator("section.tables table")
    assert tables.count() == len(shown)
    for at, table in enumerate(shown):
        head, *rows = (line.split("\t") for line in tables.nth(at).inner_text().splitlines())
        assert head == list(table.head)
        assert [row for row in rows if "img" not in row[0]] == [list(row) for row in table.rows if HOSTILE not in row]
    assert opened.locator("section.tables > p").all_inner_texts() == [note for one in told for note in one.notes]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_leaderboard_says_what_its_text_says(leaderboard: Path, open_page: Open, scripts: bool) -> None:
    opened = open_page(leaderboard, java_script_enabled=scripts)
    told = sections(BOARDS)
    assert told[0].tables[0].rows[0][2] == "4.43 (1.95–6.00)"  # 31 points of 7 answers.
    has_tables(opened, told)
    tables = opened.locator("section.tables table")
    assert "<img src=x" in tables.first.inner_text()
    assert tables.first.locator("tbody tr:has-text('img') td").nth(-2).inner_text() == "unknown"
    assert all(line in opened.inner_text("footer") for line in closing(BOARDS))
    assert opened.title() == "Leaderboard"


@pytest.mark.parametrize(("size", "scheme"), [("phone", "dark"), ("desk", "light")])
def test_a_leaderboard_fits_and_everybody_can_use_it(
    leaderboard: Path, open_page: Open, size: str, scheme: str
) -> None:
    opened = open_page(leaderboard, viewport=SIZES[size], color_scheme=scheme)
    figures_are_told(opened, 1)
    everybody_can_use(opened)
    scrolled = opened.locator("section.tables .wide").first
    scrolled.evaluate("one => one.scrollLeft = 500")
    name = scrolled.locator("tbody th").first.bounding_box()
    assert name is not None
    assert 0 <= name["x"] < 50


def test_memories_have_their_table_and_the_tests_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: Open
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "run", "--dataset", "locomo", "sample", "--memory", "sqlite-fts,null", "--out", "o"]) == 0
    journals = [read_figures(folder, folder.name) for folder in sorted(tmp_path.glob("o/*"), reverse=True)]
    (tmp_path / "page.html").write_text(memories_page.page(journals), encoding="utf-8")
    opened = open_page(tmp_path / "page.html", viewport=SIZES["phone"], color_scheme="dark")
    has_tables(opened, memories_page.tables(journals))
    assert opened.locator("section.tables > h2").nth(1).inner_text() == "null (HEAD) against sqlite-fts (BASE)"
    assert opened.inner_text("h1") == "2 memory systems"
    figures_are_told(opened, 1)
    everybody_can_use(opened)
