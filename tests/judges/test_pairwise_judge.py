"""The pairwise judge: both orders have to agree, and a judge that follows the position is seen."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.judges import model_judges
from pytest_recall.trials.trial import Answer
from tests.helpers.samples import case
from tests.helpers.scripted import better, sections
from tests.judges.panels import heard


def compared(**given: Any) -> model_judges.PairwiseInquiry:
    """Return the comparison of "mine" with "theirs"."""
    return model_judges.pairwise_inquiry(Answer(text="mine"), case(), **{"against": "theirs", **given})


@pytest.mark.parametrize(
    ("before", "after", "score", "flips", "told"),
    [
        ("first", "second", 1.0, 0, "better in both orders"),
        ("second", "first", 0.0, 0, "worse in both orders"),
        ("first", "first", 0.5, 1, "a tie, as the first one was preferred in both orders"),
        ("second", "second", 0.5, 1, "a tie, as the second one was preferred in both orders"),
        ("tie", "tie", 0.5, 0, "a tie in both orders"),
        ("first", "tie", 0.5, 0, "a tie, as it was one in one of the orders"),
        ("tie", "first", 0.5, 0, "a tie, as it was one in one of the orders"),
    ],
)
def test_both_orders_have_to_agree(before: str, after: str, score: float, flips: int, told: str) -> None:
    vote, _ = heard(compared(), better(before), better(after))
    assert (vote.score, vote.flips, vote.passed) == (score, flips, score >= 0.5)
    assert vote.reason == f"{told}: It is true."


def test_the_order_is_swapped() -> None:
    _, model = heard(compared(aspect="brevity"), better("tie"))
    first, second = (sections(ask.messages[0].content) for ask in model.asks)
    assert (first["FIRST ANSWER"], first["SECOND ANSWER"]) == ("mine", "theirs")
    assert (second["FIRST ANSWER"], second["SECOND ANSWER"]) == ("theirs", "mine")
    assert first["ASPECT"] == second["ASPECT"] == "brevity"


@pytest.mark.parametrize(("threshold", "passed"), [(None, True), (0.5, True), (0.6, False), (1.0, False)])
def test_a_threshold_says_whether_a_tie_is_enough(threshold: float | None, passed: bool) -> None:
    assert heard(compared(threshold=threshold), better("tie"))[0].passed is passed


@pytest.mark.parametrize(
    "given", [{"against": None}, {"against": " "}, {"against": ["a"]}, {"aspect": ""}, {"aspect": 1}]
)
def test_what_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"needs the other answer; write|`aspect` must be text"):
        compared(**given)


def test_the_version_is_not_of_the_texts() -> None:
    assert compared().version == compared(against="other", threshold=1.0).version
