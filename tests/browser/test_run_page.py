"""The page of a run in a real browser: filters, search, links, details, keys, sizes, and that nothing leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.results.report_page.run_page import page
from pytest_recall.trials.trial import Outcome
from tests.browser.conftest import Open, close, everybody_can_use, figures_are_told, follow, soon
from tests.helpers.reports import HOSTILE, JOURNAL, answered, report_of, sample

if TYPE_CHECKING:
    from playwright.sync_api import Page

ANSWER = "dialog section:has(> h3:text-is('Answer')) pre"
SIZES = {"phone": {"width": 360, "height": 640}, "desk": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with a case of each kind."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(sample(), JOURNAL), encoding="utf-8")
    return path


def shown(opened: Page) -> list[str]:
    """Return the ids of the cases that are shown."""
    return [one for one in opened.locator("#table tbody tr:visible th").all_inner_texts() if not one.startswith("<img")]


def fragment(opened: Page) -> str:
    return str(opened.evaluate("location.hash.slice(1)"))


def test_what_matters_stands_there_at_once_with_its_figures_and_filters_and_search_narrow_it(
    report: Path, open_page: Open
) -> None:
    opened = open_page(report)
    said = "1 regression, 1 new failure, 1 known failure, 1 in quarantine, 1 error, 3 passed, 1 skipped, 1 not run"
    assert opened.title().endswith(f": {said}")
    assert "could go unseen" in opened.inner_text("#run")
    assert opened.locator("#regressions article").count() == 1
    assert "A late return costs nothing." in opened.inner_text("#regressions")
    assert "no answer in 30 s" in opened.inner_text("#third")
    assert "left-out" in opened.inner_text("#unrun")
    assert "flaky (2026-03-10 to" in opened.inner_text("#apart")
    assert opened.inner_text("#shown") == "10 cases"
    figures_are_told(opened, 4)
    opened.select_option("[name=scenario]", "hours")
    soon(opened, shown, ["crashed", "no-key", "opening-hours"])
    assert opened.inner_text("#shown") == "3 of 10 cases"
    opened.select_option("[name=outcome]", "error")
    soon(opened, shown, ["crashed"])
    soon(opened, fragment, "outcome=error&scenario=hours")
    opened.select_option("[name=tag]", "money")
    soon(opened, shown, [])
    assert opened.inner_text("#nothing") == "No case fits these filters."
    opened.click("text=Clear filters")
    opened.wait_for_selector("#shown:text-is('10 cases')")
    soon(opened, fragment, "")
    assert not opened.is_visible("#nothing")
    opened.click(".counts .error a")
    soon(opened, shown, ["crashed"])
    opened.click("text=Clear filters")
    for words, found in (
        ("late-fee", ["late-fee"]),  # its id
        ("WHEN DO YOU", ["opening-hours"]),  # its input
        ("names no price", ["late-fee"]),  # the reasoning
        ("30 s timeouterror", ["crashed"]),  # in any order
        ("costs nothing", ["late-fee"]),  # the answer
        ("nowhere to be found", []),
    ):
        opened.fill("[name=q]", words)
        soon(opened, shown, found)


def test_without_scripts_all_of_that_is_there_as_well(report: Path, open_page: Open) -> None:
    opened = open_page(report, java_script_enabled=False)
    assert "need JavaScript" in opened.inner_text("#cases")
    assert "A late return costs nothing." in opened.inner_text("#regressions")
    assert len(shown(opened)) == 9
    assert not opened.is_visible("#filters")


def test_a_case_opens_with_all_that_is_known_of_it_as_text_and_closes_by_key_or_by_going_back(
    report: Path, open_page: Open
) -> None:
    opened = open_page(report)
    opened.click("#table >> text=late-fee")
    soon(opened, fragment, "case=late-fee")
    told = opened.text_content("dialog")
    assert told is not None
    for text in (
        "What does a late return cost?",
        "One pound a day.",
        "A late return costs nothing.",
        "It names no price.",
        "version v7",
        "Late tools cost one pound a day.",
        "POST https://api.example.org/v1/chat",
        "Nothing at all.",
        "Since its last pass, in the run 2026-03-02T120000",
        "box 3 → 1",
        "2026-03-01T120000",
        "250 input",
    ):
        assert text in told, text
    assert opened.locator("dialog [role=img]").get_attribute("aria-label") == "Its boxes in 3 runs, from box 2 to box 1"
    assert opened.locator("dialog del").all_inner_texts() != []
    close(opened)
    soon(opened, fragment, "")
    assert opened.evaluate("document.activeElement.textContent") == "late-fee"
    opened.click("#regressions article a")
    opened.wait_for_selector("dialog")
    opened.go_back()
    opened.wait_for_selector("dialog", state="hidden")
    # Whatever an answer holds is text, and a long one is folded.
    title = opened.title()
    opened.locator("#table tbody tr", has_text="onerror").locator("a").click()
    # Half a surrogate pair is no character, and HTML holds no control characters: these are shown as signs for them.
    told = HOSTILE.replace("\0", "\u2400").replace("\x1b", "\u241b")
    answer = opened.text_content(ANSWER)
    assert answer is not None
    assert answer.replace("\ufffd", "\ud800") == told
    assert opened.title() == title
    assert opened.locator("img").count() == 0
    assert opened.locator("script").count() == 2
    follow(opened, "case=long")
    opened.click("text=Show all 200,000 characters")
    assert len(opened.text_content(ANSWER) or "") == 200_000


def test_a_link_opens_its_case_and_its_filters(report: Path, open_page: Open) -> None:
    opened = open_page(report, "#case=opening-hours&scenario=hours&q=open")
    assert opened.inner_text("#case-h") == "opening-hours"
    assert opened.input_value("[name=scenario]") == "hours"
    close(opened)
    soon(opened, shown, ["opening-hours"])
    soon(opened, fragment, "scenario=hours&q=open")


def test_a_link_to_what_is_not_there_says_so(report: Path, open_page: Open) -> None:
    opened = open_page(report, "#case=unknown&scenario=gone")
    assert "no case with this id" in opened.inner_text("dialog")
    assert opened.input_value("[name=scenario]") == "gone"
    close(opened)
    assert opened.is_visible("#nothing")


def test_by_keyboard_alone(report: Path, open_page: Open) -> None:
    opened = open_page(report)
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Skip to the cases"
    opened.keyboard.press("/")
    opened.keyboard.type("fees")
    soon(opened, fragment, "q=fees")
    soon(opened, shown, [])
    opened.keyboard.press("Control+a")
    opened.keyboard.type("late")
    opened.keyboard.press("Escape")
    assert opened.evaluate("document.activeElement.id") == "cases"
    opened.keyboard.press("/")
    opened.keyboard.press("Enter")
    assert opened.evaluate("document.activeElement.textContent") == "late-fee"
    opened.keyboard.press("Enter")
    assert opened.inner_text("#case-h") == "late-fee"
    close(opened)
    soon(opened, fragment, "q=late")
    opened.evaluate("location.hash = ''")
    opened.wait_for_selector("#shown:text-is('10 cases')")
    before = opened.evaluate("document.activeElement.textContent")
    opened.keyboard.press("j")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("k")
    opened.keyboard.press("ArrowUp")
    assert opened.evaluate("document.activeElement.textContent") == before
    opened.keyboard.press("Enter")
    first = opened.inner_text("#case-h")
    opened.keyboard.press("j")
    assert opened.inner_text("#case-h") != first
    opened.keyboard.press("k")
    assert opened.inner_text("#case-h") == first


@pytest.mark.parametrize(("size", "scheme"), [("phone", "dark"), ("desk", "light")])
def test_it_fits_and_everybody_can_use_it(report: Path, open_page: Open, size: str, scheme: str) -> None:
    opened = open_page(report, viewport=SIZES[size], color_scheme=scheme)
    everybody_can_use(opened)
    follow(opened, "case=late-fee")
    everybody_can_use(opened, "dialog")


def test_the_first_regression_is_on_the_first_screen_of_a_phone(report: Path, open_page: Open) -> None:
    opened = open_page(report, viewport=SIZES["phone"])
    box = opened.locator("#regressions article h3").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < SIZES["phone"]["height"]


def test_a_comparison_does_not_scroll_sideways_on_a_phone(tmp_path: Path, open_page: Open) -> None:
    ids = [f"opening-hours-of-the-shop-{number}" for number in range(20)]
    before = [answered(case_id, text=f"right {case_id}") for case_id in ids]
    now = [answered(case_id, Outcome.FAILED if number < 2 else Outcome.PASSED) for number, case_id in enumerate(ids)]
    path = tmp_path / "both.html"
    path.write_text(page(report_of(now, base=before), JOURNAL), encoding="utf-8")
    opened = open_page(path, viewport=SIZES["phone"])
    assert opened.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]


def test_two_runs_side_by_side(tmp_path: Path, open_page: Open) -> None:
    ids = [f"case-{number}" for number in range(20)]
    before = [answered(case_id, text=f"right {case_id}") for case_id in ids]
    now = [answered(case_id, Outcome.FAILED if case_id == "case-7" else Outcome.PASSED) for case_id in ids]
    path = tmp_path / "both.html"
    path.write_text(page(report_of(now, base=before), JOURNAL), encoding="utf-8")
    opened = open_page(path)
    assert "could be chance" in opened.inner_text("#against").lower()
    opened.select_option("[name=flip]", "lost")
    soon(opened, shown, ["case-7"])
    opened.click("#against >> text=case-7")
    sides = opened.locator("dialog .sides > div").all_inner_texts()
    assert [side.splitlines()[0] for side in sides] == ["Before", "Now"]
    assert ("right case-7" in sides[0], "One pound." in sides[1]) == (True, True)


def test_a_long_table_has_pages(tmp_path: Path, open_page: Open) -> None:
    path = tmp_path / "long.html"
    path.write_text(page(report_of(answered(f"case-{number:03}") for number in range(120)), JOURNAL), encoding="utf-8")
    opened = open_page(path)
    assert (len(shown(opened)), opened.inner_text("#pages span")) == (50, "1 to 50 of 120")
    opened.click("#pages >> text=Next")
    assert (shown(opened)[0], fragment(opened)) == ("case-050", "page=2")
    opened.click("#pages >> text=Last")
    assert shown(opened) == [f"case-{number}" for number in range(100, 120)]
    # The keys go on to the next page, and so does a case that is open.
    opened.click("#pages >> text=First")
    opened.locator("#table a:has-text('case-049')").focus()
    opened.keyboard.press("j")
    assert opened.evaluate("document.activeElement.textContent") == "case-050"
    opened.keyboard.press("Enter")
    opened.keyboard.press("k")
    assert (opened.inner_text("#case-h"), shown(opened)[0]) == ("case-049", "case-000")
    close(opened)
    opened.fill("[name=q]", "case-11")
    soon(opened, shown, [f"case-{number}" for number in range(110, 120)])
    assert opened.is_hidden("#pages")
    # A link names its page; one that is not there is the last.
    assert shown(open_page(path, "#page=3"))[0] == "case-100"
    assert shown(open_page(path, "#page=99"))[0] == "case-100"
