"""How much of what has to be retrieved is among the first passages."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.judges.built_in import recall_at_k
from pytest_recall.trials.trial import Answer, Passage

MEMORY = {
    "sessions": [
        {"id": "s1", "turns": [{"speaker": "A", "text": "I keep bees"}, {"speaker": "B", "text": "me too"}]},
        {"id": "s2", "turns": [{"speaker": "A", "text": "The pump\nburned out"}]},
    ]
}


def case(*evidence: str, **given: Any) -> Case:
    plain = {"id": "a", "scenario": "s", "dimension": "d", "input": "who?", "judges": ["recall_at_k"]}
    return Case.model_validate({**plain, **({"evidence": list(evidence)} if evidence else {}), **given})


def answer(*passages: str | tuple[str, str]) -> Answer:
    """Return an answer with these passages: texts, or texts with sources."""
    found = [Passage(text=one) if isinstance(one, str) else Passage(text=one[0], source=one[1]) for one in passages]
    return Answer(text="", passages=tuple(found))


@pytest.mark.parametrize(
    ("evidence", "passages", "score"),
    [
        (["s1:1"], [("", "s1:1")], 1.0),
        (["s1:1"], [("", "s1:2")], 0.0),
        (["s1:1"], ["yesterday a: i keep  BEES, he said"], 1.0),
        (["s1:1"], ["I keep bees"], 0.0),
        (["s1"], [("", "s1:2")], 1.0),
        (["s1"], [("", "s1")], 1.0),
        (["s1"], [("", "s2:1")], 0.0),
        (["s1", "s2"], [("", "s2:1")], 0.5),
        (["the pump burned"], ["A: The pump\nburned out"], 1.0),
        (["doc-7"], [("", "doc-7")], 1.0),
        (["doc-7"], [("", "doc-8")], 0.0),
        (["doc-7"], [], 0.0),
    ],
)
def test_evidence_is_found_by_id_or_by_text(evidence: list[str], passages: list[Any], score: float) -> None:
    verdict = recall_at_k(answer(*passages), case(*evidence, memory=MEMORY))
    assert (verdict.passed, verdict.score) == (None, score)


def test_only_the_first_k_count() -> None:
    given = answer(("", "x"), ("", "b"), ("", "a"))
    scores = [recall_at_k(given, case("a", "b"), k=k).score for k in (1, 2, 3, 9, None)]
    assert scores == [0.0, 0.5, 1.0, 1.0, 1.0]


def test_the_reason_names_what_is_missing() -> None:
    verdict = recall_at_k(answer(("", "b")), case("a", "b"))
    assert verdict.reason == "1 of 2 pieces of evidence in 1 passages, without “a”"


def test_evidence_may_be_an_argument() -> None:
    assert recall_at_k(answer("a b"), case(), evidence="A B").score == 1.0


@pytest.mark.parametrize("given", [{}, {"evidence": []}, {"evidence": " "}, {"evidence": ["a", ""]}])
def test_without_evidence_there_is_nothing_to_score(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"evidence|empty list"):
        recall_at_k(answer("a"), case(), **given)


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "3"])
def test_k_is_a_number_of_passages(k: Any) -> None:
    with pytest.raises(ValueError, match="`k` is"):
        recall_at_k(answer("a"), case("a"), k=k)
