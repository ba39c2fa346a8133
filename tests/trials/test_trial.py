"""Trials: their outcome, their note and their JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from pytest_recall.trials.trial import (
    Answer,
    Outcome,
    Passage,
    Row,
    Trial,
    Verdict,
)
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, costly, row, trial, trials


def through_json(one: Trial) -> Trial:
    """Return the trial as another process or a later day reads it."""
    return Trial.from_json(json.loads(json.dumps(one.to_json())))


@pytest.mark.parametrize(("outcome", "verdict"), [(PASSED, True), (FAILED, True), (ERROR, False), (SKIPPED, False)])
def test_only_two_outcomes_are_verdicts(outcome: Outcome, verdict: bool) -> None:
    assert outcome.is_verdict is verdict


@costly
@given(trials)
def test_json_round_trip(one: Trial) -> None:
    assert through_json(one) == one


def test_json_round_trip_of_an_empty_passage() -> None:
    one = trial(answer=Answer(text="x", passages=(Passage(text="", source="a"),)))
    assert through_json(one) == one


def test_json_round_trip_of_an_empty_answer() -> None:
    one = trial(answer=Answer(text=""))
    assert through_json(one).answer == Answer(text="")


def test_json_keeps_zeros_and_noes() -> None:
    one = trial(outcome=FAILED, seconds=0.0, verdicts=(Verdict(passed=False, score=0.0),))
    plain = one.to_json()
    assert plain["seconds"] == 0.0
    assert plain["verdicts"] == [{"passed": False, "score": 0.0}]


def test_json_leaves_out_what_is_unknown() -> None:
    assert trial("late-fee").to_json() == {
        "case_id": "late-fee",
        "outcome": "passed",
        "attempt": 1,
        "source": "live",
    }


def test_fields_of_a_later_version_are_passed_over() -> None:
    one = trial(answer=Answer(text="x", passages=(Passage(text="y"),)), verdicts=(Verdict(passed=True),), row=row())
    plain = one.to_json()
    plain["mood"] = "good"
    plain["verdicts"][0]["mood"] = plain["answer"]["mood"] = plain["answer"]["passages"][0]["mood"] = "good"
    assert Trial.from_json(plain) == one


@pytest.mark.parametrize("plain", [{"case_id": "a"}, {"outcome": "passed"}, {"case_id": "a", "outcome": "great"}])
def test_what_is_no_trial(plain: dict[str, str]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Trial.from_json(plain)


def test_note_of_a_fail_names_the_judges_that_failed() -> None:
    one = trial(
        outcome=FAILED,
        verdicts=(
            Verdict(passed=False, reason="no “one”", judge="contains"),
            Verdict(passed=True, reason="fine", judge="regex"),
            Verdict(passed=False, reason="nothing like it"),
        ),
    )
    assert one.note == "contains: no “one”; nothing like it"


def test_note_of_a_crash_is_the_error() -> None:
    assert trial(outcome=ERROR, error="agent: boom").note == "agent: boom"
    assert trial(outcome=PASSED, verdicts=(Verdict(passed=True, reason="fine", judge="exact"),)).note == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "high"], ids=["nan", "inf", "text"])
def test_what_was_measured_is_a_number(value: object) -> None:
    plain = {**Trial("a", Outcome.PASSED).to_json(), "measures": {"token_f1": value}}
    with pytest.raises(ValueError, match=r"not all of them are numbers|could not convert"):
        Trial.from_json(plain)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"lapses": -1}, "lapses: -1 is not a count"),
        ({"evidence": 0.5}, "evidence: 0.5 is not a number from 1 up"),
        ({"box": 9}, "box: there is no box 9"),
    ],
)
def test_a_row_that_cannot_be(field: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Row.from_json({**row().to_json(), **field})


def test_whether_a_trial_counts_is_yes_or_no() -> None:
    with pytest.raises(TypeError, match="evidence: 1 is not a bool"):
        Trial.from_json({**trial().to_json(), "evidence": 1})
