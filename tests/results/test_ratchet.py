"""The ratchet: what has held, and nothing less; never down, and no further for less evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.gate import Gate
from pytest_recall.files import strict_yaml
from pytest_recall.results.gates import GateStep, PastGate, rows_of_runs, step
from pytest_recall.results.gates_text import rubric_lines
from pytest_recall.results.standing import Standing
from pytest_recall.trials.record import Record
from tests.helpers.samples import ERROR, FAILED, TODAY, days, failing, header, row, trial, unhurried

EVERY = frozenset(f"r{n}" for n in range(20))


def gate(at_least: float = 0.9, **given: Any) -> Gate:
    """Return a gate on the refunds."""
    return Gate.model_validate({"scenario": "refunds", "at_least": at_least, **given})


def stands(one: Gate, passed: int, verdicts: int = 20, fresh: int = 20, cases: int = 20) -> Standing:
    """Return how a gate stands."""
    return Standing(one, cases, verdicts, passed, fresh)


def seen(one: Gate, *passed: int, asked: frozenset[str] = EVERY) -> list[PastGate]:
    """Return runs after which so many of twenty cases had passed."""
    return [PastGate(f"run{n}", stands(one, count), asked) for n, count in enumerate(passed)]


def after(one: Gate, found: Sequence[PastGate], now: int = 20, runs: int = 3) -> GateStep:
    """Return what becomes of a gate."""
    return step(one, found, stands(one, now, fresh=0), runs)


def test_a_gate_is_raised_to_the_lowest_rate_of_the_last_runs() -> None:
    done = after(gate(), seen(gate(), 5, 20, 19, 20))
    assert (done.to, done.why, done.runs, done.asked) == (0.95, "", 3, 20)
    assert done.lowest is not None
    assert done.lowest.run == "run2"
    assert after(gate(), seen(gate(), 5, 20, 19, 20), runs=4).why == "it has not held"


def test_how_it_stands_now_counts_as_well() -> None:
    done = after(gate(), seen(gate(), 20, 20, 20), now=19)
    assert done.to == 0.95
    assert done.lowest is not None
    assert done.lowest.run == ""
    assert after(gate(), seen(gate(), 20, 20, 20), now=17).to is None


def test_a_rate_is_rounded_down_to_whole_percent() -> None:
    one = gate(0.2)
    for passed, verdicts, to in ((29, 100, 0.29), (2, 3, 0.66), (57, 100, 0.57), (999, 1000, 0.99)):
        now = stands(one, passed, verdicts, 0, verdicts)
        done = step(one, [PastGate("run", now._replace(fresh=verdicts), EVERY)], now, 1)
        assert done.to == to
        assert step(one.model_copy(update={"at_least": to}), (), now, 1).to is None
    assert after(gate(0.955), seen(gate(0.955), 20, 20, 20), now=20).to == 1.0
    assert after(gate(0.945), seen(gate(0.945), *[19] * 3), now=19).to == 0.95
    assert after(gate(0.95), seen(gate(0.95), *[19] * 3), now=19).why == "it has held no higher, in whole percent"


def test_too_little_evidence_raises_nothing_and_says_so() -> None:
    one = gate()
    assert after(one, seen(one, 20, 20)).why == "too few runs: 2 have asked its cases, 3 are needed"
    few = seen(one, 20, 20, 20, asked=frozenset({"r0"}))
    assert after(one, few).why == "too few cases: these runs have asked 1 of them, 5 are needed"
    poor = step(one, seen(one, 20, 20, 20), stands(one, 2, 2), 3)
    assert poor.why == "too few verdicts now: 2 of 20 cases have one, 5 are needed"
    assert step(one, (), Standing(one, 0, 0, 0, 0), 3).why == "no case counts for it"
    assert after(gate(1.0), seen(gate(1.0), 20, 20, 20)).why == "there is nothing above it"


def test_a_run_with_too_few_verdicts_or_without_a_case_of_the_gate_says_nothing() -> None:
    one = gate()
    silent = [PastGate("few", stands(one, 0, 2), EVERY), PastGate("none", stands(one, 0, fresh=0), frozenset())]
    assert after(one, [*silent, *seen(one, 20, 20), *silent]).runs == 2
    assert after(one, [*silent, *seen(one, 20, 20, 20), *silent]).to == 1.0


def test_replayed_answers_are_no_evidence_but_their_fails_count() -> None:
    one = gate()
    fine, bad = (PastGate("replay", stands(one, count), frozenset()) for count in (20, 10))
    assert after(one, [*seen(one, 20, 20), fine, fine]).runs == 2
    assert after(one, [*seen(one, 20, 20, 20), fine]).to == 1.0
    assert after(one, [*seen(one, 20, 20, 20), bad]).why == "it has not held"


counts = st.lists(st.integers(0, 20), max_size=8)
rates = st.integers(0, 100).map(lambda n: n / 100) | st.floats(0, 1)


@unhurried
@given(rates, counts, st.integers(0, 20), st.integers(1, 5))
def test_it_never_lowers_and_twice_is_once(at_least: float, passed: list[int], now: int, runs: int) -> None:
    one = gate(at_least)
    done = after(one, seen(one, *passed), now, runs)
    if done.to is None:
        assert done.why
        return
    assert at_least < done.to <= 1
    # It would have blocked nothing of what it rests on.
    raised = gate(done.to)
    window = [*passed[-runs:], now]
    assert all(stands(raised, count).status == "held" for count in window)
    assert after(raised, seen(raised, *passed), now, runs).to is None


@unhurried
@given(rates, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8), st.integers(0, 20))
def test_better_evidence_never_asks_for_less(at_least: float, pairs: list[tuple[int, int]], now: int) -> None:
    one = gate(at_least)
    worse = after(one, seen(one, *(min(pair) for pair in pairs)), now)
    better = after(one, seen(one, *(max(pair) for pair in pairs)), 20)
    assert (better.to or at_least) >= (worse.to or at_least)


@unhurried
@given(rates, counts, st.integers(0, 20), st.integers(1, 5))
def test_more_runs_to_hold_in_never_ask_for_more(at_least: float, passed: list[int], now: int, runs: int) -> None:
    one = gate(at_least)
    short, long = (after(one, seen(one, *passed), now, count) for count in (runs, runs + 1))
    assert (long.to or at_least) <= (short.to or at_least)


# What a run started from


def record(day: int, *trials: Any, **more: Any) -> Record:
    """Return a run so many days after the first."""
    return Record(header(run=f"run{day}", date=(TODAY + days(day)).isoformat(), **more), tuple(trials), 0)


def test_the_rows_before_a_run_are_those_that_earlier_ones_left() -> None:
    now = {"a": row(1, 1, tested=TODAY + days(2)), "b": row(3, 3, tested=TODAY - days(1))}
    runs = [record(2, trial("a", row=failing(tested=TODAY + days(1)))), record(0, trial("a")), record(1)]
    found = {one.header.run: {name: row.failing for name, row in rows.items()} for one, rows in rows_of_runs(runs, now)}
    # The fail between them was somewhere else, and is known from what the last run started from.
    assert found == {"run0": {"b": False}, "run1": {"a": False, "b": False}, "run2": {"a": True, "b": False}}


def test_what_is_no_verdict_or_not_written_leaves_no_row() -> None:
    runs = [record(0, trial("a", ERROR), trial("b", FAILED), writes=False), record(1, trial("c", FAILED)), record(2)]
    assert [sorted(rows) for _, rows in rows_of_runs(runs, {})] == [[], [], ["c"]]


def test_who_is_in_quarantine_now_is_so_throughout() -> None:
    now = {"a": row(quarantined=TODAY, tested=TODAY - days(9)), "b": row(tested=TODAY - days(9))}
    runs = [record(0, trial("b", row=row(quarantined=TODAY - days(9))))]
    ((_, rows),) = rows_of_runs(runs, now)
    assert {name: one.quarantined for name, one in rows.items()} == {"a": TODAY, "b": None}


@pytest.mark.parametrize("name", ["a: b", "no", "12", "it's", "ü # x", "-", "x y", 'a"b', "\u2028"])
def test_the_lines_to_write_are_read_as_the_gates(name: str) -> None:
    raised = [gate(0.95, scenario=name), gate(0.5, verdicts=9)]
    intro, *lines = rubric_lines("eval/rubric.yaml", raised)
    assert "eval/rubric.yaml" in intro
    loaded = strict_yaml.load("\n".join(["gates:", *lines]), "rubric.yaml")
    assert [Gate.model_validate(one) for one in loaded["gates"]] == raised
