"""The fold over what a memory came to: failures and what no one can judge are in no mean."""

from __future__ import annotations

import json

import pytest

from pytest_recall.datasets.membench import Arguments, arguments_of_settings, differences, fold, kept, plain
from pytest_recall.datasets.membench_run import shortened
from pytest_recall.datasets.rescoring import LONGEST, PASSAGES
from pytest_recall.trials.earlier_run import RunDifference
from pytest_recall.trials.record import settings_of
from pytest_recall.trials.trial import ANSWERED, Answer, Outcome, Passage, Trial

ARGUMENTS = Arguments("locomo", "f.json", "00", "sqlite-fts", 10, "turn", None, "", (), False)
FAILED = Trial("3", Outcome.ERROR, dimension="a", error="memory recall: down")


def asked(id: str, *, measures: dict[str, float | None], **usage: float) -> Trial:
    """Return the trial of a question of the category `a`."""
    return Trial(id, Outcome.PASSED, dimension="a", answer=Answer(text="", usage=usage), measures=measures)


def test_means_are_of_what_came_back() -> None:
    trials = [
        asked("1", memory_recall_seconds=0.1, measures={"contains_at_k": True, "evidence_recall_at_k": 0.5}),
        asked(
            "2",
            memory_recall_seconds=0.3,
            memory_store_seconds=2.0,
            memory_stored=7,
            measures={"contains_at_k": False, "later": 2.0},
        ),
        FAILED,
        Trial("4", Outcome.SKIPPED, dimension="b", answer=Answer(text="", usage={"memory_recall_seconds": 0.2})),
    ]
    found = fold(trials, 5)
    assert (found.everything.n, found.everything.failures, found.everything.unjudged) == (4, 1, 1)
    assert not found.complete
    mean = found.everything.means["contains_at_k"]
    assert (mean.value, mean.n) == (0.5, 2)
    assert found.everything.means["evidence_recall_at_k"].n == 1
    assert found.categories["b"].means == {}
    assert (found.ingests, found.units, found.ingest_seconds) == (1, 7, 2.0)
    assert found.latency["p50"] == 0.2
    assert "later" not in found.everything.means  # Of a later version.


def test_of_several_ingests_a_question_has_the_mean_of_its_values() -> None:
    once: dict[str, float | None] = {"contains_at_k": 1.0, "evidence_recall_at_k": 0.5, "locomo_judge": None}
    other: dict[str, float | None] = {"contains_at_k": 0.0, "evidence_recall_at_k": 1.0, "locomo_judge": 1.0}
    first = [asked("1", memory_store_seconds=1.0, memory_stored=7, measures=once), asked("2", measures=once), FAILED]
    later = [
        [FAILED, asked("2", measures=other), asked("1", memory_store_seconds=2.0, memory_stored=6, measures=other)],
        [asked("4", measures=other)],
    ]
    found = fold(first, 4, further=later)
    group = found.everything
    assert (found.repeats, group.n, group.failures) == (3, 4, 1)
    assert [group.means["contains_at_k"].value, group.means["evidence_recall_at_k"].value] == [1 / 3, 2.5 / 3]
    # No verdict after one ingest is none of that ingest, and the question has that of the others.
    assert (group.means["locomo_judge"].n, group.means["locomo_judge"].failures) == (3, 0)
    assert group.spreads["contains_at_k"].means == (1.0, 0.0, 0.0)
    assert group.spreads["contains_at_k"].deviation == pytest.approx(0.5**0.5)
    assert (found.ingests, found.units, found.ingest_seconds) == (2, 13, 3.0)
    assert fold(first, 4).everything.spreads == {}


def test_a_question_that_failed_after_some_ingests_is_no_failure() -> None:
    found = fold([FAILED], 1, further=[[asked("3", measures={"contains_at_k": 1.0})]])
    assert (found.everything.failures, found.everything.means["contains_at_k"].value) == (0, 1)
    assert found.everything.means["contains_at_k"].low is None, "nothing shows how ingests differ"


def test_nothing_is_no_zero() -> None:
    found = fold([], 3)
    assert (found.everything.means, found.latency["p50"]) == ({}, None)


def test_what_has_changed_is_named() -> None:
    assert [*differences(json.loads(json.dumps(plain(ARGUMENTS))), ARGUMENTS)] == []
    assert [*differences(plain(ARGUMENTS), ARGUMENTS._replace(k=5, categories=("a",), code="c"))] == [
        RunDifference("`k` was 10 and is 5"),
        RunDifference("`categories` was [] and is ['a']"),
        RunDifference("it is not known of which code they are", asks_again=True),
    ]


def test_arguments_come_back_from_the_settings_of_a_journal() -> None:
    for one in (ARGUMENTS, ARGUMENTS._replace(sample=3, categories=("a",), whole=True)):
        assert arguments_of_settings(settings_of(**plain(one))) == plain(one)


def test_what_is_kept_and_what_is_asked_again() -> None:
    good, bad = asked("1", measures={}), FAILED
    assert kept([good], 5, False) == kept([good], 5, True) == "1 of 5 questions are kept"
    assert kept([good, bad], 5, False) == "1 of 5 questions are kept, 1 that failed is asked again"
    assert kept([good, bad, bad], 5, False) == "1 of 5 questions are kept, 2 that failed are asked again"
    assert kept([good, bad], 5, True) == "2 of 5 questions are kept, 1 of them failed"


@pytest.mark.parametrize("usage", [{}, {ANSWERED: 1}])
def test_words_of_its_own_are_kept_and_passages_are_cut(usage: dict[str, int]) -> None:
    long = "x" * (LONGEST + 1)
    passages = (Passage(text=long, source="a", score=0.5),) * (PASSAGES + 1)
    cut = (Passage(text=long[:LONGEST], source="a", score=0.5),) * PASSAGES
    assert shortened(Answer(text=long, passages=passages, usage=usage)) == Answer(text=long, passages=cut, usage=usage)


def test_text_that_is_that_of_the_passages_is_kept_as_these_alone() -> None:
    assert shortened(Answer(text="x", usage={ANSWERED: 0})).text == ""
