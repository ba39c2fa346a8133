"""Run page: what stands in it without a script, that any text stays text, and its size."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.exchange import Call
from pytest_recall.results.report import RecordedCalls, RunReport, Upstream
from pytest_recall.results.report_page import data, run_page
from pytest_recall.results.report_page.frame import LENGTHS, LIMIT, fitted, shown, well_formed
from pytest_recall.results.report_page.run_page import EXCERPT, RunOrigin, duration, page, verdict
from pytest_recall.trials.trial import Answer, Outcome, Passage, Verdict
from tests.helpers.reports import HOSTILE, JOURNAL, answered, report_of, sample, written
from tests.helpers.samples import FAILED, header, row, trial, unhurried
from tests.results.report_page.test_frame import unpacked

NASTY = st.text() | st.lists(
    st.sampled_from([*"<>&'\"`/\0\x1b\ud800\u202e{%#}", "</script>", "<!--", "]]>", "{{ 1 }}", "&lt;", "javascript:"])
).map("".join)


class _Parsed(HTMLParser):
    """The elements of a page in order, its text, and its data."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.data = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(" ".join([tag, *sorted(name for name, _ in attrs)]))
        self._inside = "data" if ("id", "data") in attrs else tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data = data
        elif not self._inside:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def parsed(report: RunReport, links: str = "") -> _Parsed:
    return _Parsed(page(report, JOURNAL, links))


def one(text: str) -> RunReport:
    """Return a report of a regression in which `text` is whatever may be."""
    verdicts = (Verdict(passed=False, reason=text, judge=text or "x", model=text, version=text),)
    answer = Answer(text=text, passages=(Passage(text=text, source=text, score=1.0),))
    failed = trial(
        text or "x", FAILED, row=row(3), verdicts=verdicts, answer=answer, scenario=text, where=text, reason=text
    )
    tape = RecordedCalls(text, text, (Upstream(text, text, text, 0.1, text, text),))
    case = written(text, reference=text, notes=text, tags=(text,), criteria=(text,))
    return report_of([failed], written={text or "x": case}, taped={text or "x": tape}, missing=[text])


# Text is text


@unhurried
@given(NASTY)
def test_any_text_comes_back_as_text(text: str) -> None:
    found, plain = parsed(one(text)), parsed(one("plain"))
    # What a case has nothing of is left out; no text makes an element that is of no other page.
    assert set(found.elements) <= set(plain.elements)
    assert found.elements.count("script") == plain.elements.count("script")
    (case,) = unpacked(found.data)["cases"]
    for value in (case.get("answer", ""), case.get("asked", ""), case["verdicts"][0].get("reason", "")):
        assert value == text
    assert case["id"] == well_formed(text or "x")


def test_what_looks_like_html_is_shown() -> None:
    assert " ".join(shown(HOSTILE).split()) in parsed(one(HOSTILE)).text


# What is in it


def test_what_matters_needs_no_script() -> None:
    text = parsed(sample()).text
    for told in (
        "1 regression, 1 new failure, 1 known failure, 1 in quarantine, 1 error, 3 passed, 1 skipped, 1 not run",
        "What this run could not see: 10 of 40 cases chosen",
        "could go unseen (95 %)",
        "Regressions (1)",
        "box 3 → 1",
        "It names no price.",
        "No verdict (2)",
        "agent: TimeoutError: no answer in 30 s",
        "Chosen, and not run (1)",
        "In quarantine (1)",
        "flaky (2026-03-10 to an unknown day, anna, 2 lapses)",
        "In this run: flaky (failed)",
        "Pass rate by scenario",
        "40.0 %",
        "need JavaScript",
    ):
        assert told in text, told


def test_a_regression_names_its_suspects() -> None:
    report = sample()
    (entry,) = report.regressions
    named = replace(report, card=report.card._replace(suspects={entry.case_id: ("12", "15")}))
    told = "Suspects: #12, #15 (changes since its last pass on main that touched it)"
    assert told in parsed(named).text
    assert "uspects:" not in parsed(report).text


FIRST_TO_LAST = (
    "Regressions (1)",
    "New failures (1)",
    "Known failures (1)",
    "No verdict (2)",
    "Cases Filters",
    "Figures",
    "Notes",
)


def test_failures_stand_before_all_else() -> None:
    text = parsed(sample()).text
    places = [text.index(title) for title in FIRST_TO_LAST]
    assert places == sorted(places)


def test_a_run_without_anything_says_so() -> None:
    found = parsed(report_of([], head=header(total=0)))
    assert "Nothing run" in found.text
    assert "this run shows nothing" in found.text


@pytest.mark.parametrize(
    ("trials", "mood"),
    [
        ([answered("a")], "good"),
        ([answered("a", FAILED)], "mixed"),
        ([trial("a", Outcome.ERROR)], "mixed"),
        ([answered("a", FAILED, row=row(3))], "bad"),
    ],
    ids=["passed", "failed", "error", "regression"],
)
def test_the_verdict_looks_as_bad_as_it_is(trials: list[Any], mood: str) -> None:
    assert f'<h1 class="{mood}">' in page(report_of(trials), JOURNAL)


def test_what_could_not_be_read_is_told() -> None:
    assert (
        "The state could not be read."
        in parsed(report_of([answered("a")], missing=["The state could not be read."])).text
    )


def test_a_run_that_was_cut_off_says_so() -> None:
    report = report_of([answered("a")], head=header(("a", "due"), ("b", "due")))
    assert "Partial: 1 of 2 chosen cases not run" in parsed(report).text


def test_a_place_is_a_link_where_the_files_are_on_the_web() -> None:
    html = page(sample(), JOURNAL, "https://example.org/blob/abc")
    assert '<a href="https://example.org/blob/abc/eval/cases.yaml#L3" rel="noreferrer">eval/cases.yaml:3</a>' in html
    assert ">eval/cases.yaml:3</p>" in page(sample(), JOURNAL)


def test_ids_are_escaped_in_links() -> None:
    html = page(report_of([answered("a/b c&d#e+f%20")]), JOURNAL)
    assert 'href="#case=a%2Fb%20c%26d%23e%2Bf%2520"' in html


def test_two_runs_say_what_their_difference_shows() -> None:
    before = [answered(f"c{number}") for number in range(5)]
    now = [answered("c0", FAILED), *before[1:]]
    text = parsed(report_of(now, base=before)).text
    assert "2026-03-09T120000 and 2026-03-10T120000" in text
    assert "Passed before and fails now (1) c0" in text
    assert "passed in 2026-03-09T120000 One pound. failed in 2026-03-10T120000 One pound." in text
    assert "McNemar" in text


def test_the_head_says_what_is_not_known() -> None:
    text = parsed(report_of([answered("a")])).text
    assert "Project not recorded Commit not recorded Branch not recorded" in text
    assert "Took not recorded Cost no call of a model was seen" in text


def test_the_head_says_what_the_run_was() -> None:
    head = header(total=1)._replace(commit="0123456789abcdef", branch="shorter", verdicts=0)
    report = report_of([answered("a")], head=head._replace(picks=(("a", "new"),)))
    report = replace(report, record=report.record._replace(seconds=130.4))
    origin = RunOrigin("shop", "Say less", "https://github.com/acme/shop/commit/0123456789abcdef")
    written = page(report, JOURNAL, origin=origin)
    text = _Parsed(written).text
    assert "100 % of the last verdicts of 1 case pass" in text
    assert "Project shop Commit 0123456789ab Say less Branch shorter" in text
    assert f'<a href="{origin.url}" rel="noreferrer">0123456789ab Say less</a>' in written
    assert "Took 2 min 10 s" in text


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1 min 0 s"), (7500, "2 h 5 min")]
)
def test_how_long_it_took(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_a_row_has_the_question_the_answer_the_score_and_why() -> None:
    text = parsed(sample()).text
    row = "late-fee What does a late return cost? A late return costs nothing. 0.25 rubric: It names no price."
    assert row in text


def test_the_verdict_in_words() -> None:
    assert verdict(report_of([answered("a"), answered("b", FAILED)])) == "No regression, 1 new failure, 1 passed"


# Size


def test_a_thousand_cases_are_less_than_two_megabytes() -> None:
    """Answers of 2 kB that do not repeat, with as much around them."""
    draw = random.Random(7)
    words = ["".join(draw.choices("etaoinshrdlucmfw", k=draw.randint(2, 9))) for _ in range(4_000)]

    def prose(size: int) -> str:
        return " ".join(draw.choices(words, k=size // 6))

    trials = [
        answered(
            f"case-number-{number}",
            FAILED if number % 10 == 0 else Outcome.PASSED,
            text=prose(2_000),
            verdicts=(Verdict(passed=number % 10 > 0, judge="rubric", reason=prose(300)),),
            where=f"eval/cases.yaml:{number}",
        )
        for number in range(1_000)
    ]
    html = page(report_of(trials, written={one.case_id: written(prose(200)) for one in trials}), JOURNAL)
    found = _Parsed(html)
    assert len(html.encode()) < LIMIT
    kept = unpacked(found.data)["cases"]
    assert len(kept) == 1_000
    cut = [case["answer"] for case in kept if isinstance(case["answer"], dict)]
    assert bool(cut) == ("Texts are cut after" in found.text)
    assert "Texts are cut after" not in parsed(sample()).text


def test_what_does_not_fit_is_cut_and_says_where_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    noise = "".join(chr(draw.randint(0x4E00, 0x9FFF)) for _ in range(60_000))
    report = report_of([answered("a", text=noise), answered("b", text="short")])
    monkeypatch.setattr("pytest_recall.results.report_page.frame.LIMIT", 450_000)
    html = page(report, JOURNAL)
    found = _Parsed(html)
    first, second = unpacked(found.data)["cases"]
    assert len(html.encode()) < 450_000
    assert first["answer"] == {"cut": noise[: len(first["answer"]["cut"])], "of": 60_000}
    assert second["answer"] == "short"
    length = len(first["answer"]["cut"])
    told = f"Texts are cut after {length:,} characters, to keep this page small; {JOURNAL} has all of them."
    assert told in found.text


def test_an_id_is_never_cut() -> None:
    every = [{"id": "x" * 5_000, "answer": "y" * 5_000}]
    found, length = fitted(lambda length: {"cases": data.shortened(every, length)}, 0)
    assert length == LENGTHS[-1]
    assert found["cases"] == [{"id": "x" * 5_000, "answer": {"cut": "y" * length, "of": 5_000}}]


def test_a_long_text_of_a_regression_is_told_to_go_on() -> None:
    text = parsed(one("word " * 400)).text
    assert f"… ({2_000 - EXCERPT:,} more characters)" in text


def test_it_is_the_same_each_time() -> None:
    assert page(sample(), JOURNAL) == page(sample(), JOURNAL)


def test_no_address_is_in_it() -> None:
    html = page(sample(), JOURNAL)
    assert re.findall(r'(?:src|href)="(?!#)([^"]*)"', html) == ["data:,"]


def test_for_a_terminal_the_first_few_that_went_wrong_are_named_and_the_rest_counted() -> None:
    found = list(run_page.lines(report_of([answered(f"a{n}", FAILED) for n in range(12)])))
    assert [line.partition(":")[0] for line in found].count("new failure") == 10
    assert found[-1] == "and 2 more"


def test_for_a_terminal_the_verdict_over_two_runs_is_there() -> None:
    before = [answered(f"a{n}") for n in range(6)]
    now = [answered(f"a{n}", FAILED) for n in range(6)]
    found = list(run_page.lines(report_of(now, base=before)))
    assert "" in found
    assert found[found.index("") + 1]


def test_calls_without_a_price_are_not_in_the_bars() -> None:
    calls = (Call("agent", "live", "m", cost=0.5), Call("agent", "live", "n"))
    told = parsed(report_of([answered("a", calls=calls)])).text
    assert "1 call without a price is not in the bars." in told


def test_what_baselines_came_to_is_noted() -> None:
    found = report_of([answered("a"), answered("a", FAILED, arm="bare")])
    assert "bare" in parsed(found).text
