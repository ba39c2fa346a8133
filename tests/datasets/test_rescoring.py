"""Numbers from a journal alone: at any k, and what was not found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.membench import RETRIEVED
from pytest_recall.datasets.rescoring import LONGEST, altered, at_k, missed
from pytest_recall.files.errors import RecallError
from pytest_recall.metrics.retrieval import MAX_K
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import ANSWERED, Answer, Outcome, Passage, Trial, TrialStep

METRICS = ("evidence_recall_at_k", "evidence_all_at_k", "reciprocal_rank", "contains_at_k")
GONE = Trial("q2", Outcome.ERROR, error="memory recall: down")


def came_back(ids: Sequence[str], *, measures: dict[str, float | None], texts: Sequence[str] = ()) -> Trial:
    """Return the trial of a question for which these ids came back."""
    passages = tuple(Passage(text=text, source=id) for id, text in zip(ids, texts or ids, strict=False))
    answer = Answer(text="", passages=passages, usage={ANSWERED: 0})
    steps = (TrialStep(RETRIEVED, {"ids": list(ids)}),)
    return Trial("q", Outcome.PASSED, answer=answer, measures=measures, steps=steps)


def run(*trials: Trial, evidence: tuple[str, ...] = ("a", "b"), whole: bool = False, k: int = 5) -> JournalContents:
    """Return a journal with these trials, the first one of a question with this evidence."""
    arguments = {"dataset": "dmr", "k": k, "whole": whole}
    asked = {"q": QuestionRecord("q", "Where?", "c1", "at a", evidence, cluster="one")}
    return JournalContents("run", arguments, {one.case_id: one for one in trials}, asked)


@given(st.lists(st.sampled_from("abcde"), unique=True, max_size=5), st.integers(1, 5))
def test_values_are_those_of_the_first_k(ids: list[str], k: int) -> None:
    found = at_k(run(came_back(ids, measures=dict.fromkeys(METRICS, 0.0))), k, METRICS).trials["q"].measures
    first = ids[:k]
    assert found is not None
    assert found["evidence_recall_at_k"] == len({"a", "b"} & set(first)) / 2
    assert found["evidence_all_at_k"] == float({"a", "b"} <= set(first))
    ranks = [rank for rank, id in enumerate(first, start=1) if id in "ab"]
    assert found["reciprocal_rank"] == (1 / ranks[0] if ranks else 0)


def test_what_was_not_measured_is_not_made_up_and_verdicts_stay() -> None:
    given = came_back("ab", measures={"evidence_recall_at_k": 0.5, "dmr_judge": 1.0})
    found = at_k(run(given, GONE), 5, METRICS).trials
    assert found["q"].measures == {"evidence_recall_at_k": 1.0, "dmr_judge": 1.0}
    assert found["q2"] == GONE


def test_texts_that_a_journal_has_not_all_of_are_not_measured_again() -> None:
    given = came_back("abc", measures={"contains_at_k": 1.0, "reciprocal_rank": 1.0}, texts=["x"])
    assert at_k(run(given, whole=True), MAX_K, METRICS).trials["q"].measures == {"reciprocal_rank": 1.0}
    long = came_back("a", measures={"contains_at_k": 1.0}, texts=["x" * LONGEST])
    assert at_k(run(long), 5, METRICS).trials["q"].measures == {}


def test_texts_of_all_that_a_memory_holds_are_measured_where_they_are_all_there() -> None:
    given = came_back("ab", measures={"contains_at_k": 1.0}, texts=["x", "y"])
    assert at_k(run(given, whole=True), MAX_K, METRICS).trials["q"].measures == {"contains_at_k": 0.0}


def test_altered_values_are_found() -> None:
    was = run(came_back("ab", measures={"evidence_recall_at_k": 0.5, "reciprocal_rank": 1.0}))
    assert altered(was, at_k(was, 5, METRICS)) == ["q"]
    right = run(came_back("ab", measures={"evidence_recall_at_k": 1.0, "reciprocal_rank": 1.0}))
    assert altered(right, at_k(right, 5, METRICS)) == []


def test_what_cannot_be_computed_is_refused() -> None:
    given = came_back("ab", measures={})
    with pytest.raises(RecallError, match="asked for 5 passages, and 6 is more"):
        at_k(run(given), 6, METRICS)
    with pytest.raises(RecallError, match="its journal has no questions"):
        at_k(run(given)._replace(asked={}), 5, METRICS)


def test_what_is_absent_has_the_text_that_another_question_brought_up() -> None:
    other = came_back("b", measures={}, texts=["The boat is blue."])._replace(case_id="r")
    found = run(came_back(["x", "a"], measures={}), other)
    asked = {**found.asked, "r": QuestionRecord("r", "?", "c1", None, ("b",), cluster="one")}
    (one,) = missed(found._replace(asked=asked), 2)
    assert (one.asked.id, one.absent) == ("q", {"b": "The boat is blue."})
    assert [(id, passage.source) for id, passage in one.instead] == [("x", "x"), ("a", "a")]
    assert [len(one.absent) for one in missed(run(came_back(["x", "a"], measures={})), 1)] == [2]


def test_of_another_conversation_nothing_is_shown() -> None:
    other = came_back("b", measures={}, texts=["Theirs."])._replace(case_id="r")
    found = run(came_back("x", measures={}), other)
    asked = {**found.asked, "r": QuestionRecord("r", "?", cluster="two")}
    assert next(missed(found._replace(asked=asked), 5)).absent == {"a": "", "b": ""}
