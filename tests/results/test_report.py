"""Report: which cases stand first, what is known of each, and that no figure is counted twice."""

from __future__ import annotations

from datetime import date

from pytest_recall.metrics.intervals import wilson
from pytest_recall.results.report import CaseEntry, CaseStep, PassRate, steps_of, written
from pytest_recall.results.scorecard import LastPass
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Answer, Outcome, Verdict
from tests.helpers.reports import answered, report_of, sample
from tests.helpers.samples import FAILED, PASSED, TODAY, case, header, row, trial

# Order


def test_what_has_to_be_looked_at_stands_first() -> None:
    found = sample().entries
    assert found[0].case_id == "late-fee"
    outcomes = [entry.outcome for entry in found[1:]]
    order = ["failed", "error", "skipped", "not run", "passed"]
    assert outcomes == sorted(outcomes, key=order.index)
    assert [entry.case_id for entry in found if entry.outcome == "passed"] == ["long", "opening-hours", "refund"]


def test_of_two_runs_what_was_lost_stands_before_other_fails() -> None:
    before = [answered("a", FAILED), answered("b")]
    now = [answered("a", FAILED), answered("b", FAILED)]
    found = report_of(now, base=before)
    assert [(entry.case_id, entry.flip) for entry in found.entries] == [("b", "lost"), ("a", "same")]


def test_a_baseline_is_no_case() -> None:
    found = report_of([answered("a"), answered("a", FAILED, arm="bare")])
    assert [(entry.case_id, entry.outcome) for entry in found.entries] == [("a", "passed")]


def test_a_chosen_case_without_a_trial_is_there() -> None:
    found = report_of([], head=header(("left", "due")))
    assert [(entry.case_id, entry.reason, entry.outcome) for entry in found.entries] == [("left", "due", "not run")]
    assert found.regressions == found.apart == []


# Numbers


def test_rates_are_those_of_the_scorecard() -> None:
    found = sample()
    assert found.rates["fees"] == PassRate(2, 5, wilson(2, 5))
    assert sum(rate.passed for rate in found.rates.values()) == found.card.counts["passed"]


def test_without_a_verdict_there_is_no_rate() -> None:
    found = report_of([trial("a", Outcome.ERROR, scenario="fees")])
    assert found.rates == {"fees": PassRate(0, 0, None)}


# One case


def test_a_case_that_was_not_run_has_the_scenario_of_its_file() -> None:
    entry = CaseEntry(case_id="a", reason="due", written=written(case(tags=("money",))))
    assert (entry.scenario, entry.dimension, entry.source, entry.judges) == ("fees", "facts", "", ())


def test_judges_are_named_once() -> None:
    verdicts = (Verdict(passed=True, judge="contains"), Verdict(passed=True, judge="contains"))
    (entry,) = report_of([trial("a", verdicts=verdicts)]).entries
    assert entry.judges == ("contains",)


def test_the_difference_from_the_last_pass() -> None:
    one = trial("a", FAILED, row=row(3), answer=Answer(text="two pounds"))
    (entry,) = report_of([one], passes={"a": LastPass("one pounds", run="1")}).entries
    assert [tuple(piece) for piece in entry.difference()] == [("gone", "one"), ("new", "two"), ("same", "pounds")]
    (entry,) = report_of([one]).entries
    assert entry.difference() == []


# A case as text


def test_what_was_asked_is_text() -> None:
    assert written(case(input="Why?")).asked == "Why?"
    assert written(case(input={"question": "Why?"})).asked == '{"question": "Why?"}'
    said = written(case(input=..., turns=[{"user": "Hi", "assistant": "Hello"}, "Why?"]))
    assert said.asked == "user: Hi\nassistant: Hello\nuser: Why?"


def test_the_reference_and_the_judges_are_text() -> None:
    found = written(case(expected={"a": 1}, judges=["exact", {"contains": "x"}, {"token_f1": {"threshold": 0.6}}]))
    assert found.reference == '{"a": 1}'
    assert found.criteria == ("exact", "contains: x", 'token_f1: {"threshold": 0.6}')
    assert written(case(expected=...)).reference == ""


def test_a_case_that_was_edited_since_the_run_says_so() -> None:
    asked = case()
    assert not written(asked, asked.fingerprint).edited
    assert not written(asked).edited
    assert written(asked, "0123456789ab").edited


# The way of a case


def test_a_step_is_the_move_that_the_run_made() -> None:
    due = row(2, due=TODAY)
    record = Record(header(("a", "due")), (trial("a", row=due), trial("b", FAILED, row=due)), 0)
    assert steps_of(record, ["a", "gone"], None) == {
        "a": CaseStep("2026-03-10T120000", "2026-03-10", PASSED, 2, 3),
    }


def test_a_run_that_writes_nothing_moves_nothing() -> None:
    record = Record(header(writes=False), (trial("a", FAILED, row=row(3)), trial("b")), 0)
    found = steps_of(record, ["a", "b"], None)
    assert [(step.before, step.after) for step in found.values()] == [(3, 3), (None, None)]


def test_the_first_verdict_puts_a_case_into_a_box() -> None:
    record = Record(header(date=date(2026, 3, 10).isoformat()), (trial("a"),), 0)
    assert steps_of(record, ["a"], None)["a"][3:5] == (None, 1)


def test_an_answer_differs_from_none_before() -> None:
    (alone,) = report_of([answered("a")]).entries
    assert alone.change() == []
    (now,) = report_of([answered("a", text="Two pounds.")], base=[answered("a")]).entries
    assert [piece.text for piece in now.change()] == ["One pound.", "Two pounds."]
