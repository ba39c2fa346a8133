"""Past runs: one for each day and pull request, and which of their fails were regressions."""

from __future__ import annotations

from datetime import timedelta

from pytest_recall.schedule.history import (
    PastRun,
    Regression,
    VerdictLine,
    in_order,
    past_of,
    past_of_lines,
    regressions,
    turned_red,
)
from pytest_recall.trials.record import Record
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, TODAY, header, trial


def run(day: int, pr: str | None = None, **verdicts: bool) -> PastRun:
    """Return a run so many days after the first."""
    return PastRun(TODAY + timedelta(days=day), pr, verdicts)


def test_of_a_journal_only_verdicts_of_the_agent_count() -> None:
    trials = (
        trial("a"),
        trial("b", FAILED),
        trial("c", ERROR),
        trial("d", SKIPPED),
        trial("e", counts_for_schedule=False),
        trial("f", arm="raw"),
        trial("g", reason="dataset"),
    )
    assert past_of(Record(header(pr="7"), trials)) == PastRun(TODAY, "7", {"a": True, "b": False})
    assert past_of(Record(header(), (trial("c", ERROR),))) is None


def test_what_a_person_chose_is_no_run_of_a_schedule() -> None:
    assert past_of(Record(header(scheduled=False), (trial("a"),))) is None


def test_a_fail_that_the_run_asked_again_is_confirmed() -> None:
    again = (trial("a", FAILED, rule="fail 2of3"), trial("a", FAILED, rule="fail 2of3", repeat=2))
    found = past_of(Record(header(), (*again, trial("b", FAILED))))
    assert found is not None
    assert found.confirmed == {"a"}


def test_a_fail_that_is_not_confirmed_is_no_verdict() -> None:
    rule = "evidence 70 from 1.00, 0 of 0 failed"
    doubted = [trial("a", one, rule=rule, repeat=number) for number, one in enumerate((FAILED, *[PASSED] * 3), 1)]
    assert past_of(Record(header(), (*doubted, trial("b")))) == run(0, b=True)


def test_lines_become_runs() -> None:
    lines = [
        VerdictLine.model_validate({"date": "2026-03-11", "case_id": "a", "outcome": "failed", "pr": 7}),
        VerdictLine.model_validate({"date": "2026-03-11", "case_id": "b", "outcome": "passed", "pr": "7"}),
        VerdictLine.model_validate({"date": "2026-03-10", "case_id": "a", "outcome": "passed"}),
        VerdictLine.model_validate({"date": "2026-03-10", "case_id": "b", "outcome": "error"}),
    ]
    assert in_order(past_of_lines(lines)) == [run(0, a=True), run(1, "7", a=False, b=True)]


def test_runs_of_one_pull_request_on_one_day_are_one() -> None:
    first = run(0, "7", a=False, b=True)._replace(confirmed=frozenset({"a"}))
    assert in_order([first, run(0, a=True), run(0, "7", a=True)]) == [run(0, "7", a=True, b=True), run(0, a=True)]


def test_a_single_fail_between_passes_is_no_regression() -> None:
    assert list(regressions([run(0, a=True), run(1, a=False), run(2, a=True)])) == []


def test_two_fails_after_a_pass_are_one_and_so_is_one_that_was_confirmed() -> None:
    twice = [run(0, a=True), run(1, a=False), run(2, b=True), run(3, a=False), run(4, a=True), run(5, a=False)]
    assert list(regressions(twice)) == [Regression("a", 1, 4)]
    confirmed = run(1, a=False)._replace(confirmed=frozenset({"a"}))
    assert list(regressions([run(0, a=True), confirmed, run(2, a=True)])) == [Regression("a", 1, 2)]
    assert list(regressions([run(0, a=True), confirmed])) == [Regression("a", 1, 2)]


def test_a_case_that_never_passed_did_not_regress() -> None:
    assert list(regressions([run(0, a=False), run(1, a=False)])) == []


def test_a_pull_request_turns_red_by_a_case_that_passed_last() -> None:
    runs = [
        run(0, a=True, b=False),
        run(1, "7", a=False, b=False),
        run(2, "8", a=False),
        run(3, a=True),
        run(4, a=False),
    ]
    assert turned_red(runs) == {1: {"a"}}
