"""Gates: the last known verdict of every case, and what a change asks less of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_recall.cases.gate import Blocks, Gate
from pytest_recall.cases.settings import Settings
from pytest_recall.results.standing import Standing, informs, loosened, standings
from pytest_recall.trials.trial import Outcome, Row, Trial
from tests.helpers.samples import TODAY, WEAK, failing, row, trial, unhurried

CASES = {f"r{n}": ("refunds", "facts") for n in range(8)} | {f"h{n}": ("hours", "tone") for n in range(2)}


def gate(at_least: float = 0.9, **given: Any) -> Gate:
    """Return a gate on the refunds."""
    return Gate.model_validate({"scenario": "refunds", "at_least": at_least, **given})


def stands(one: Gate, rows: Mapping[str, Row], *trials: Trial) -> Standing:
    """Return how a gate stands."""
    (found,) = standings([one], CASES, rows, {trial.case_id: trial for trial in trials})
    return found


ROWS = {f"r{n}": row() for n in range(7)} | {"r7": failing(), "h0": failing()}


def test_the_rate_is_of_the_last_verdict_of_every_case_of_the_scenario() -> None:
    found = stands(gate(), ROWS)
    assert (found.cases, found.verdicts, found.passed, found.fresh) == (8, 8, 7, 0)
    assert (found.rate, found.status) == (0.875, "missed")
    assert stands(gate(0.875), ROWS).status == "held"
    assert found.interval is not None
    assert found.interval[0] < 0.875 < found.interval[1]


def test_verdicts_of_this_run_take_the_place_of_those_before() -> None:
    found = stands(gate(), ROWS, trial("r7"), trial("r0"), trial("h1", Outcome.FAILED))
    assert (found.passed, found.fresh, found.status) == (8, 2, "held")
    assert stands(gate(), ROWS, trial("r0", Outcome.FAILED)).passed == 6


@pytest.mark.parametrize(
    "what", [trial("r0", Outcome.ERROR), trial("r0", Outcome.SKIPPED), trial("r0", Outcome.FAILED, unproven=(WEAK,))]
)
def test_what_is_no_verdict_is_no_fail(what: Trial) -> None:
    assert stands(gate(), ROWS, what) == stands(gate(), ROWS)


def test_too_few_verdicts_neither_hold_nor_miss() -> None:
    rows = {"r0": row(), "r1": row()}
    found = stands(gate(0.0), rows)
    assert (found.verdicts, found.status) == (2, "too few verdicts")
    assert not found.stops("regression")
    assert not found.stops("failure")
    assert found.stops("incomplete")
    assert stands(gate(verdicts=2), rows).status == "held"
    assert stands(gate(verdicts=1), {}).status == "too few verdicts"


def test_a_scenario_with_fewer_cases_than_that_is_held_to_all_of_them() -> None:
    hours = gate(1.0, scenario="hours")
    assert stands(hours, {"h0": row(), "h1": row()}).status == "held"
    assert stands(hours, {"h0": row()}).status == "too few verdicts"


def test_cases_in_quarantine_are_left_out() -> None:
    found = stands(gate(), {**ROWS, "r7": failing(quarantined=TODAY)}, trial("r7", Outcome.FAILED))
    assert (found.cases, found.verdicts, found.passed, found.apart) == (7, 7, 7, 1)


OUTSIDE = (
    "it only informs: its requests are as on main: the provider, its data, or what a replay cannot see: timeouts,"
    " proxies, the network"
)


def test_a_gate_is_about_a_scenario_a_dimension_or_all_cases() -> None:
    assert gate().name == "refunds"
    every = Gate(at_least=0.5)
    assert (every.name, stands(every, ROWS).cases) == ("all cases", 10)
    tone = Gate(dimension="tone", at_least=0.5)
    assert (tone.name, stands(tone, ROWS).cases) == ("tone", 2)
    assert stands(Gate(scenario="refunds", dimension="tone", at_least=0.5), ROWS).cases == 0


@pytest.mark.parametrize(
    ("blocks", "stops"), [("never", False), ("regression", True), ("failure", True), ("incomplete", True)]
)
def test_a_missed_gate_blocks_unless_nothing_does(blocks: Blocks, stops: bool) -> None:
    assert stands(gate(), ROWS).stops(blocks) is stops
    assert not stands(gate(0.5), ROWS).stops(blocks)


@pytest.mark.parametrize(
    ("blocks", "known", "words"),
    [
        ("failure", None, ""),
        ("incomplete", failing(), ""),
        ("regression", row(), ""),
        (
            "regression",
            failing(),
            "it only informs: under `blocks: regression` only a regression blocks, and it failed before",
        ),
        (
            "regression",
            None,
            "it only informs: under `blocks: regression` only a regression blocks, and this is its first verdict",
        ),
        ("never", row(), "it only informs: under `blocks: never` nothing blocks"),
    ],
)
def test_a_fail_that_does_not_block_says_why(blocks: Blocks, known: Row | None, words: str) -> None:
    assert informs(blocks, known) == words
    outside = informs(blocks, known, decides=False)
    assert outside == (words if blocks == "never" else OUTSIDE)


def test_what_asks_for_less_is_named() -> None:
    before = [gate(0.95), Gate(at_least=0.8), Gate(dimension="tone", at_least=0.7)]
    now = [gate(0.9, verdicts=9), before[2]]
    assert loosened(before, now) == [
        "gate `refunds` lowered from 0.95 to 0.9 by this change",
        "gate `refunds` needs 9 verdicts since this change, and not 5",
        "gate `all cases` at 0.8 taken away by this change",
    ]
    assert loosened(before, [gate(0.97), Gate(at_least=0.8), *before[2:], Gate(scenario="new", at_least=0)]) == []


@pytest.mark.parametrize("wrong", [{"at_least": 1.1}, {"at_least": True}, {"verdicts": 0}, {"x": 1}])
def test_what_is_no_gate_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Gate.model_validate({"at_least": 0.9, **wrong})


def test_there_is_one_gate_for_each_part() -> None:
    with pytest.raises(ValidationError, match="there are two gates for refunds; keep one of them"):
        Settings.model_validate({"owner": "us", "gates": [{"scenario": "refunds", "at_least": n} for n in (0.5, 0.6)]})


outcomes = st.sampled_from(list(Outcome))


@unhurried
@given(
    st.dictionaries(st.sampled_from(sorted(CASES)), st.booleans()),
    st.dictionaries(st.sampled_from(sorted(CASES)), outcomes),
)
def test_counts_add_up_and_third_outcomes_change_nothing(before: dict[str, bool], run: dict[str, Outcome]) -> None:
    rows = {case_id: row() if passed else failing() for case_id, passed in before.items()}
    found = stands(Gate(at_least=0.5), rows, *(trial(case_id, outcome) for case_id, outcome in run.items()))
    judged = {case_id: outcome for case_id, outcome in run.items() if outcome.is_verdict}
    assert found == stands(Gate(at_least=0.5), rows, *(trial(case_id, outcome) for case_id, outcome in judged.items()))
    assert found.fresh == len(judged)
    assert found.verdicts == len({*before, *judged})
    assert 0 <= found.passed <= found.verdicts <= found.cases == len(CASES)
