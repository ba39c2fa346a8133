"""Past runs: one for each day and pull request, and which of their fails were regressions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.history import (
    Habit,
    PastRun,
    Regression,
    Setting,
    VerdictLine,
    habits,
    in_order,
    past_of,
    past_of_lines,
    regressions,
    settled,
    turned_red,
)
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Trial
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


# What journals say of a team: only where there is enough of it, and with how much that was


def record(day: int, *trials: Trial, pr: str | None = None, hours: float = 0) -> Record:
    """Return a run of these trials, so many days after the first one."""
    date = TODAY + timedelta(days=day)
    started = f"{date.isoformat()}T{int(hours):02}:00:00+00:00"
    return Record(header(date=date.isoformat(), pr=pr, started=started), trials)


def test_no_run_says_nothing() -> None:
    assert habits([]) == {}


def test_little_history_is_told_and_gives_no_figure() -> None:
    found = habits([record(0, trial("a"), pr="1")])
    assert {name: one.value for name, one in found.items()} == dict.fromkeys(
        ("pulls", "open_days", "drift", "flaky", "usd")
    )
    assert found["pulls"].told == "the runs have too little: pull requests: 1, days: 1, runs: 1"


def test_pull_requests_are_counted_once_and_are_open_from_the_first_to_the_last_run() -> None:
    records = [record(day, trial(), pr=str(day), hours=hours) for day in range(12) for hours in (0, 12)]
    found = habits(records)
    assert (found["pulls"].value, found["open_days"].value) == (1.0, 0.5)


def test_a_start_that_is_not_known_is_no_time() -> None:
    runs = [record(day, trial(), pr=str(day)) for day in range(12)]
    runs += [Record(one.header._replace(started=""), one.trials) for one in runs]
    assert habits(runs)["open_days"].value is None


def test_drift_is_what_fails_twice_outside_of_pull_requests() -> None:
    cases = [f"case-{number}" for number in range(100)]

    def night(day: int, *broken: str) -> Record:
        return record(day, *(trial(one, FAILED if one in broken else PASSED) for one in cases))

    chance, stays = cases[0], cases[1:7]
    runs = [
        night(0),
        night(30, chance),
        night(60, *stays),
        record(61, trial(cases[50], FAILED), pr="9"),
        night(90, *stays, cases[8]),
    ]
    found = habits(runs)["drift"]
    # 100 cases for 60 days and 93 for 30, without the last fail, of which no one knows; but one case had failed before.
    assert found.value == pytest.approx(6 / (100 * 30 + 99 * 30 + 93 * 30))
    assert found.told == "cases that broke for good outside of pull requests: 6, in days of cases: 8,760"


def test_a_fail_that_was_asked_again_is_known_at_once() -> None:
    cases = [f"case-{number}" for number in range(60)]
    broken = [trial(one, FAILED, rule="fail 2of3", repeat=repeat) for one in cases[:5] for repeat in (1, 2)]
    runs = [
        record(0, *map(trial, cases)),
        record(100, *broken, *(trial(one, rule="fail 2of3") for one in cases[5:])),
    ]
    assert habits(runs)["drift"].value == pytest.approx(5 / 6000)


def test_wrong_verdicts_are_first_fails_of_cases_that_pass_in_the_end() -> None:
    calm = [trial(f"case-{number}", rule="fail 2of3") for number in range(195)]
    shaky = [
        trial(f"shaky-{number}", outcome, rule="fail 2of3", repeat=repeat)
        for number in range(5)
        for repeat, outcome in enumerate((FAILED, PASSED, PASSED), start=1)
    ]
    found = habits([record(0, *calm, *shaky)])["flaky"]
    assert found.value == pytest.approx(5 / 200)
    assert habits([record(0, *calm)])["flaky"].value is None


def test_a_trial_costs_what_its_calls_cost_and_without_any_nothing_is_known() -> None:
    priced = [trial(str(number), calls=(Call("agent", "live", cost=0.5),) * 2) for number in range(20)]
    others = [trial("free"), trial("odd", calls=(Call("agent", "live", cost=None),)), trial("arm", arm="raw")]
    found = habits([record(0, *priced, *others)])["usd"]
    assert found == Habit(1.0, "trials with a price: 20, without: 1")
    assert habits([record(0, *priced[1:], *others)])["usd"].value is None


def test_a_replay_or_a_baseline_is_no_verdict_on_the_agent() -> None:
    trials = [trial(f"case-{number}", rule="fail 2of3", counts_for_schedule=False) for number in range(300)]
    assert habits([record(0, *trials)])["flaky"].value is None


def test_what_is_given_comes_before_what_was_seen_and_that_before_an_assumption() -> None:
    seen = {"pulls": Habit(3.0, "much"), "drift": Habit(None, "little"), "flaky": Habit(0.1, "some")}
    found = settled({"flaky": 0.0}, seen, {"pulls": 5.0, "drift": 0.01, "flaky": 0.03, "bad": 0.2, "usd": None})
    assert found == {
        "pulls": Setting(3.0, "estimated", "much"),
        "drift": Setting(0.01, "assumed", "little"),
        "flaky": Setting(0.0, "given", ""),
        "bad": Setting(0.2, "assumed", ""),
        "usd": Setting(None, "assumed", ""),
    }
