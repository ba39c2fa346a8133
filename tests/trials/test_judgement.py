"""Judgement: majorities with votes missing, medians, and the way to JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.trials.trial import Judgement, Preflight, Vote, majority, middle
from tests.helpers.samples import judgements, unhurried


def votes(*passed: bool | None) -> list[Vote]:
    """Return votes that passed it, failed it, or came to nothing."""
    return [Vote(passed=one) for one in passed]


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        ((True,), True),
        ((False,), False),
        ((None,), None),
        ((True, False), False),  # a tie is a fail
        ((True, True, False), True),
        ((True, None), None),
        ((False, None), False),  # at best a tie
        ((True, True, None), True),
        ((True, False, None), None),
        ((True, True, False, None), None),
        ((True, True, True, None, None), True),
        ((), False),
    ],
)
def test_more_than_half_of_the_seats_pass(passed: tuple[bool | None, ...], expected: bool | None) -> None:
    assert majority(votes(*passed)) is expected


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=9), st.lists(st.booleans(), min_size=9))
@unhurried
def test_a_vote_that_is_missing_could_not_have_changed_a_majority(
    passed: list[bool | None], instead: list[bool]
) -> None:
    decided = majority(votes(*passed))
    filled = [other if one is None else one for one, other in zip(passed, instead, strict=False)]
    if decided is not None:
        assert majority(votes(*filled)) is decided


def test_the_middle_is_the_median_of_what_there_is() -> None:
    assert middle([Vote(score=0.2), Vote(), Vote(score=0.9), Vote(score=0.5)]) == 0.5
    assert middle([Vote(score=0.2), Vote(score=0.4)]) == pytest.approx(0.3)
    assert middle([Vote()]) is None


@pytest.mark.parametrize(
    ("primary", "appeal", "overturned"),
    [(False, True, True), (False, False, False), (True, False, True), (False, None, False)],
)
def test_overturned_is_a_verdict_that_differs(primary: bool, appeal: bool | None, overturned: bool) -> None:
    assert Judgement(tuple(votes(primary)), Vote(passed=appeal)).overturned is overturned


def test_without_an_appeal_nothing_is_overturned() -> None:
    assert not Judgement(tuple(votes(False))).overturned


@pytest.mark.parametrize(
    ("passed", "split"), [((True, False), True), ((True, True), False), ((True, None), False), ((), False)]
)
def test_split_are_votes_of_which_some_passed_it_and_some_did_not(passed: tuple[bool | None, ...], split: bool) -> None:
    assert Judgement(tuple(votes(*passed))).split is split


@given(judgements)
@unhurried
def test_it_goes_to_json_and_back(judgement: Judgement) -> None:
    assert Judgement.from_json(json.loads(json.dumps(judgement.to_json()))) == judgement


def test_fields_of_a_later_version_are_passed_over() -> None:
    plain = {"votes": [{"model": "m", "mood": "good"}], "verdict": 7, "preflights": {"m": [6, 0, 1, 9]}}
    assert Judgement.from_json(plain) == Judgement((Vote(model="m"),), preflights={"m": Preflight(6, 0, 1)})


@pytest.mark.parametrize("plain", [{"votes": [{"scores": [1]}]}, {"votes": [{"scores": {"a": "1"}}]}, {"cause": 3}])
def test_what_no_version_has_written_is_refused(plain: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        Judgement.from_json(plain)


def test_what_judges_wrote_can_be_cleaned() -> None:
    judgement = Judgement((Vote(reason="key-1", error="key-2"),), Vote(reason="key-3"), "audit")
    cleaned = judgement.clean(lambda text: text.replace("key", "…"))
    assert [(vote.reason, vote.error) for vote in cleaned.every] == [("…-1", "…-2"), ("…-3", "")]
    assert cleaned.cause == "audit"
