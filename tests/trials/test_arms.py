"""Arms: the agent under test and baselines side by side, and that nothing else hears of a baseline."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.audit import picks
from pytest_recall.metrics.intervals import wilson
from pytest_recall.metrics.paired import mcnemar
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results.comparison import compare
from pytest_recall.results.scorecard import summarize
from pytest_recall.runs.progress import progress
from pytest_recall.schedule.boxes import fold
from pytest_recall.trials.baselines import side_by_side
from pytest_recall.trials.cost import BASELINES, of_run, seen
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Outcome, Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, TODAY, costly, header, row, trial, trials

CALL = Call("agent", "live", "m", "openai", Tokens(10, 5), 0.5)


def many(arm: str, outcomes: str, scenario: str = "fees") -> list[Trial]:
    """Return a trial of each case `c0`, `c1`, … by one agent: passed, failed, error, skipped, or none."""
    kinds = {"p": PASSED, "f": FAILED, "e": ERROR, "s": SKIPPED}
    return [
        trial(f"c{place}", kinds[letter], arm=arm, scenario=scenario)
        for place, letter in enumerate(outcomes)
        if letter in kinds
    ]


def test_without_a_baseline_there_is_nothing_side_by_side() -> None:
    assert side_by_side(many("", "pf")) is None
    assert side_by_side(many("", "pf"), ["raw"]) is None


def test_counts_rates_and_the_difference_are_over_the_same_cases() -> None:
    found = side_by_side([*many("", "pppfe-p"), *many("raw", "pfffppe"), trial("alone", FAILED)])
    assert found is not None
    (raw,) = found.baselines
    assert (found.cases, found.agent.name, raw.name) == (7, "", "raw")
    assert found.agent.counts == {"passed": 4, "failed": 1, "error": 1}
    assert raw.counts == {"passed": 3, "failed": 3, "error": 1}
    assert (raw.passed, raw.verdicts, raw.interval) == (3, 6, wilson(3, 6))
    assert found.agent.change is None
    assert raw.change is not None
    assert (raw.change.pairs, raw.change.lost, raw.change.gained) == (4, 2, 0)
    assert raw.change.p == mcnemar(2, 0)
    assert raw.change.difference == -0.5
    assert [(one.case_id, one.outcome) for one in raw.undecided] == [("c6", ERROR)]


def test_baselines_come_in_the_order_in_which_they_were_named() -> None:
    found = side_by_side([*many("b", "p"), *many("a", "p")], ["a", "never", "b"])
    assert found is not None
    assert [arm.name for arm in found.baselines] == ["a", "never", "b"]
    assert found.baselines[1].counts == {}
    assert (found.baselines[1].interval, found.baselines[1].change) == (None, None)


def test_scenarios_are_counted_by_agent() -> None:
    found = side_by_side(
        [*many("", "pf", "one"), trial("z", PASSED, scenario="two"), *many("raw", "fs", "one"), trial("z", arm="raw")]
    )
    assert found is not None
    assert found.agent.by_scenario == {"one": {"passed": 1, "failed": 1}, "two": {"passed": 1}}
    assert found.baselines[0].by_scenario == {"": {"passed": 1}, "one": {"failed": 1, "skipped": 1}}
    assert found.scenarios == ["", "one", "two"]


def test_the_calls_of_judges_are_not_an_agents_own() -> None:
    judged = CALL._replace(kind="judge")
    found = side_by_side(
        [trial(calls=(CALL, judged)), trial(arm="raw", calls=(CALL, CALL._replace(cost=None, tokens=None), judged))]
    )
    assert found is not None
    own, raw = found.agent.spend, found.baselines[0].spend
    assert (own.calls, own.tokens.input, own.recording.usd) == (1, 10, 0.5)
    assert (raw.calls, raw.uncounted, raw.recording.usd, raw.recording.unpriced) == (2, 1, 0.5, 1)


def test_a_series_of_a_baseline_comes_to_one_verdict() -> None:
    series = [
        trial("a", outcome, arm="raw", repeat=number, rule="pass 2of3")
        for number, outcome in enumerate((PASSED, FAILED, PASSED), start=1)
    ]
    found = side_by_side([trial("a", FAILED), *series])
    assert found is not None
    assert found.baselines[0].counts == {"passed": 1}


# No one else hears of them

outcomes = st.sampled_from(Outcome)
of_baselines = st.lists(
    st.builds(lambda one, arm: one._replace(arm=arm), trials, st.sampled_from(["raw", "x"])), max_size=5
)


@costly
@given(own=st.lists(trials, max_size=5), others=of_baselines, days=st.integers(-5, 5))
def test_what_is_said_of_the_agent_is_the_same_with_and_without_them(
    own: list[Trial], others: list[Trial], days: int
) -> None:
    own = [one._replace(arm="") for one in own]
    mixed = [*others[: len(others) // 2], *own, *others[len(others) // 2 :]]
    known = {one.case_id: row() for one in own[:2]}
    today = TODAY + timedelta(days=days)
    chosen = [(one.case_id, "due") for one in own]
    assert fold(known, mixed, today) == fold(known, own, today)
    assert summarize(mixed, chosen, 40, today)._replace(arms=None) == summarize(own, chosen, 40, today)
    assert picks(mixed, "all", 3, "7") == picks(own, "all", 3, "7")
    assert seen([Record(header(), tuple(mixed))]) == seen([Record(header(), tuple(own))])
    told = progress(mixed, {one.case_id for one in own}, 10.0)
    assert told._replace(spent=told.spent) == progress(own, {one.case_id for one in own}, 10.0)._replace(
        spent=told.spent
    )


def test_two_runs_are_compared_without_them() -> None:
    base = Record(header(), (trial("a"), trial("b", FAILED), trial("a", FAILED, arm="raw", calls=(CALL,))))
    head = Record(header(), (trial("a"), trial("b"), trial("b", FAILED, arm="raw"), trial("z", arm="raw")))
    found = compare(base, head)
    assert (found.overall.pairs, found.overall.lost, found.overall.gained) == (2, 0, 1)
    assert found.left == compare(base, head._replace(trials=head.trials[:2])).left
    assert [spend.calls for spend in found.spent] == [0, 0]


def test_their_money_stands_apart_from_that_of_the_scenarios() -> None:
    record = Record(
        header(), (trial("a", scenario="one", calls=(CALL,)), trial("a", scenario="one", arm="raw", calls=(CALL,) * 3))
    )
    spends = of_run(record)
    assert list(spends) == ["one", BASELINES]
    assert [spend.calls for spend in spends.values()] == [1, 3]


@pytest.mark.parametrize("arm", ["", "raw"])
def test_a_journal_knows_whose_trial_it_is(arm: str) -> None:
    one = trial("a", arm=arm)
    assert Trial.from_json(one.to_json()) == one
    assert ("arm" in one.to_json()) is bool(arm)
