"""Pages of tables in a real browser: what the text says stands there, it fits, and everybody can use it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recall.horizon.leaderboard import boards, charts, closing, sections
from pytest_recall.results.report_page.tables_page import page
from tests.browser.conftest import Open, everybody_can_use, figures_are_told
from tests.browser.test_run_page import SIZES
from tests.helpers.horizon_runs import MADE_UP, RIGHT, SMALL, Asked, run_of
from tests.helpers.reports import HOSTILE

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


@pytest.mark.parametrize("scripts", [True, False])
def test_a_leaderboard_says_what_its_text_says(leaderboard: Path, open_page: Open, scripts: bool) -> None:
    opened = open_page(leaderboard, java_script_enabled=scripts)
    told = sections(BOARDS)
    assert opened.locator("section.tables > h2").all_inner_texts() == [one.title for one in told]
    shown = [table for section in told for table in section.tables]
    tables = opened.locator("section.tables table")
    assert tables.count() == len(shown) == 4
    assert shown[0].rows[0][2] == "4.43 (1.95–6.00)"  # 31 points of 7 answers.
    for at, table in enumerate(shown):
        head, *rows = (line.split("\t") for line in tables.nth(at).inner_text().splitlines())
        assert head == list(table.head)
        found = [list(row) for row in table.rows if HOSTILE not in row]
        assert [row for row in rows if "img" not in row[0]] == found
    assert "<img src=x" in tables.first.inner_text()
    assert tables.first.locator("tbody tr:has-text('img') td").nth(-2).inner_text() == "unknown"
    assert "of fewer than 10 distinct questions" in opened.inner_text("section.tables >> nth=0")
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
