"""The page of a long-horizon run in a real browser: figures, filters, search, a question whole, links, sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.horizon.evaluation import HandedOut, Points
from pytest_recall.horizon.page import page
from pytest_recall.horizon.published import PublishedRun
from tests.browser.conftest import Open, close, everybody_can_use, figures_are_told, follow, soon
from tests.browser.test_run_page import SIZES, fragment
from tests.helpers.horizon_runs import CLOSE, MADE_UP, RIGHT, SMALL, Asked, run_of
from tests.helpers.reports import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

JOURNAL = "runs/mine/questions.jsonl"


def sample() -> PublishedRun:
    """Return a run with a bit of everything, in which q001 has reasons, passages and a price."""
    leak = Asked(id="q006", score=MADE_UP, category="information-boundary", disclosure="refuse", answer=HOSTILE)
    run = run_of(
        {**SMALL, 40: [Asked(id="q001", score=CLOSE, answer="It was in berth nine."), leak]},
        groupsEnabled=True,
        judgeModel="azure:small",
        appellateJudgeModel="azure:large",
        ranges=[{"label": f"{day}d", "days": day} for day in (10, 20, 30, 40, 50)],
    )
    third = run.stops[2]
    one, *others = third.evaluations
    one = one.with_facts(
        points=Points(1, 1, 0, "It names the wrong berth."),
        primary=Points(0, 0, 0, "Nothing of this was said."),
        retrieval=({"path": "day-0001/principal", "snippet": "The ferry moved to berth nine.", "score": 1.5},),
        tool_calls=({"name": "search", "query": "berth"},),
        usd=0.0025,
        seconds=0.5,
        answered_by="model",
        context=True,
    )
    stops = (*run.stops[:2], replace(third, evaluations=(one, *others)), *run.stops[3:])
    return replace(run, stops=stops, config={"judgeVersion": "v3"})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of this run."""
    path = tmp_path_factory.mktemp("horizon") / "report.html"
    path.write_text(page(sample(), JOURNAL), encoding="utf-8")
    return path


def shown(opened: Page) -> list[str]:
    """Return the ids of the questions that are shown."""
    return opened.locator("#table tbody tr:visible th a").all_inner_texts()


def columns(opened: Page) -> list[str]:
    """Return the names of the columns of the question that is open."""
    return opened.locator("dialog table").first.locator("thead th").all_inner_texts()


def test_what_matters_stands_there_at_once_with_its_figures_and_filters_hold_for_one_and_the_same_answer(
    report: Path, open_page: Open
) -> None:
    opened = open_page(report)
    head = opened.inner_text("header")
    assert "Partial: 4 of 5 checkpoints were reached, $" in head
    assert "No points, and in no mean: 1 no answer in time." in head
    assert "q003 at 20d, too late: it broke" in opened.inner_text("#third")
    assert "q006 at 40d" in opened.inner_text("#leaked")
    assert "unknown" in opened.get_by_role("region", name="Checkpoints", exact=True).inner_text()
    assert shown(opened)[0] == "q003"
    figures_are_told(opened, 8)
    figure = opened.locator("figure.heatmap").first
    drawn = figure.locator("svg").text_content() or ""
    assert "6.0" in drawn
    assert "×" in drawn
    figure.locator("summary").click()
    row = figure.locator("tr", has_text="negative-recall").inner_text()
    assert "1.00 of 1 answer" in row
    assert "asked, and no answer got points" in row
    opened.select_option("[name=outcome]", "failing")
    soon(opened, shown, ["q003", "q006", "q001"])
    opened.select_option("[name=checkpoint]", "30d")
    soon(opened, shown, ["q001"])
    soon(opened, fragment, "outcome=failing&checkpoint=30d")
    opened.select_option("[name=judge]", "azure:small")
    soon(opened, shown, [])
    assert opened.inner_text("#nothing") == "No question fits these filters."
    opened.click("text=Clear filters")
    opened.wait_for_selector("#shown:text-is('6 questions')")
    opened.select_option("[name=category]", "synthesis")
    soon(opened, shown, ["q002"])
    assert opened.inner_text("#shown") == "1 of 6 questions"
    opened.click("text=Clear filters")
    for words, found in (
        ("q004", ["q004"]),  # its id
        ("BERTH nine", ["q001"]),  # the answer
        ("broke", ["q003"]),  # the error
        ("wrong berth", ["q001"]),  # the reasoning
        ("nowhere", []),
    ):
        opened.fill("[name=q]", words)
        soon(opened, shown, found)


def test_without_scripts_all_of_that_is_there_as_well(report: Path, open_page: Open) -> None:
    opened = open_page(report, java_script_enabled=False)
    assert "need JavaScript" in opened.inner_text("#cases")
    assert len(shown(opened)) == 6
    assert not opened.is_visible("#filters")


def test_a_question_opens_with_all_that_is_known_of_it_as_text(report: Path, open_page: Open) -> None:
    opened = open_page(report, "#checkpoint=30d")
    opened.click("#table >> text=q001")
    soon(opened, fragment, "checkpoint=30d&case=q001")
    assert opened.locator("dialog details.checkpoint[open] > summary").all_inner_texts() == ["30d: 2 of 6 points"]
    told = opened.text_content("dialog details.checkpoint[open]") or ""
    for text in (
        "answered by a model, from what the memory found; the memory took 0.50 s; cost $0.00250",
        "azure:large, version v3, shown excerpts of the days: 2 of 6: correctness 1 of 3, completeness 1 of 2",
        "It names the wrong berth.",
        "The first judge gave 0 of 6",
        "Nothing of this was said.",
        "day-0001/principal, score 1.5",
        "The ferry moved to berth nine.",
        "query: berth",
    ):
        assert text in told, text
    assert opened.locator("dialog [role=img]").get_attribute("aria-label") == "Its points at 4 checkpoints"
    rows = opened.locator("dialog table tbody tr").all_inner_texts()
    assert [row.split()[:2] for row in rows] == [["10d", "6"], ["20d", "4"], ["30d", "2"], ["40d", "4"]]
    opened.keyboard.press("j")
    assert opened.inner_text("#case-h") != "q001"
    close(opened)
    soon(opened, fragment, "checkpoint=30d")
    # Whatever an answer holds is text.
    follow(opened, "case=q006")
    title = opened.title()
    assert "right to left" in (opened.text_content("dialog") or "")
    assert opened.title() == title != "owned"
    assert opened.locator("img").count() == 0
    assert opened.locator("script").count() == 2


def test_a_link_opens_its_question_and_an_unknown_one_says_so(report: Path, open_page: Open) -> None:
    opened = open_page(report, "#case=q003&outcome=failing")
    assert opened.inner_text("#case-h") == "q003"
    assert "no points" in opened.inner_text("dialog table")
    assert columns(opened) == ["checkpoint", "points of 6", "correct of 3", "complete of 2", "made up", "outcome"]
    assert "none" in opened.inner_text("dialog table tr:has-text('20d')")
    opened = open_page(report, "#case=unknown")
    assert "no question with this id. It has 6 questions" in opened.inner_text("dialog")


@pytest.mark.parametrize(("size", "scheme"), [("phone", "dark"), ("desk", "light")])
def test_it_fits_and_everybody_can_use_it(report: Path, open_page: Open, size: str, scheme: str) -> None:
    opened = open_page(report, viewport=SIZES[size], color_scheme=scheme)
    opened.locator("figure.heatmap svg").first.wait_for(state="attached")
    everybody_can_use(opened)
    follow(opened, "case=q001&checkpoint=30d")
    everybody_can_use(opened, "dialog")


def test_a_run_of_passages_shows_what_was_found(tmp_path: Path, open_page: Open) -> None:
    run = run_of({10: [Asked(id=f"q{n}", score=RIGHT) for n in range(6)]})
    (stop,) = run.stops
    handed = HandedOut(("day-0001/principal",), 30)
    found = tuple(one.with_facts(answered_by="passages", handed_out=handed) for one in stop.evaluations)
    units = [["day-0001/principal", 30], *[[f"day-{day:04}/principal", 30] for day in range(2, 11)]]
    stop = replace(stop, evaluations=found, measured=False, written={"newUnits": units})
    path = tmp_path / "found.html"
    path.write_text(page(replace(run, stops=(stop,)), JOURNAL), encoding="utf-8")
    opened = open_page(path)
    first = "100.0 % (61.0–100.0) of the relevant days found, random 9.2 % and last 0.0 %, in 6 answers"
    assert opened.inner_text("h1") == first
    figure = opened.locator("figure.heatmap").first
    figure.locator("svg").wait_for()
    assert "oracle" in (figure.locator("svg").text_content() or "")
    assert "100 %" in opened.inner_text("#table tbody tr >> nth=0")
    everybody_can_use(opened)
    follow(opened, "case=q1")
    assert "passing, all days found" in opened.inner_text("dialog")
    assert columns(opened) == ["checkpoint", "outcome"]
    everybody_can_use(opened, "dialog")


def test_two_runs_side_by_side(tmp_path: Path, open_page: Open) -> None:
    before = run_of({10: [Asked(id="a", score=RIGHT), Asked(id="b", score=CLOSE)]})
    now = run_of({10: [Asked(id="a", score=MADE_UP), Asked(id="b", score=RIGHT)]})
    path = tmp_path / "both.html"
    path.write_text(page(replace(now, name="now"), JOURNAL, before), encoding="utf-8")
    opened = open_page(path)
    assert (
        "on 2 answers to 2 questions"
        in opened.get_by_role("region", name="Run now against mine", exact=True).inner_text()
    )
    opened.select_option("[name=change]", "worse")
    soon(opened, shown, ["a"])
    opened.click("#table th a:visible")
    assert "in the run before" in opened.inner_text("dialog table")
