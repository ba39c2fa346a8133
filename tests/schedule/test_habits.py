"""What journals say of a team: only where there is enough of it, and with how much that was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_recall.replay.call import Call
from pytest_recall.schedule.history import Habit, Setting, habits, settled
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import FAILED, PASSED, TODAY, header, trial


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
