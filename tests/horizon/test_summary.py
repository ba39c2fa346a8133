"""Tests of core.horizon.summary."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_recall.horizon.evaluation import CheckpointTrial, Quartiles, quartiles, summarize
from tests.horizon.stories import evaluation, question


def test_what_has_no_points_is_in_no_mean_and_counted_by_its_kind() -> None:
    asked = question("q1"), question("q2", category="synthesis", difficulty="hard"), question("q3")
    every = [
        evaluation(asked[0], 3, 2, 1),
        evaluation(asked[1], 1, 0, 0, appealed=True),
        evaluation(asked[2], failure="timeout"),
    ]

    found = summarize(every, {"factual-recall": 2})

    assert (found.scored, found.mean, found.hallucination, found.appealed) == (2, 3.5, 0.5, 1)
    assert found.failures == {"memory": 0, "timeout": 1, "answer": 0, "judge": 0}
    by_name = {one.category: one for one in found.categories}
    assert (by_name["factual-recall"].scores, by_name["factual-recall"].eligible) == ((6,), 2)
    assert (by_name["synthesis"].mean, by_name["negative-recall"].mean) == (1.0, None)
    assert found.difficulties["hard"] == (1.0, 1)
    assert found.difficulties["medium"] == (None, 0)


def test_nothing_scored_has_no_mean() -> None:
    found = summarize([evaluation(question("q1"), failure="memory")])

    assert (found.scored, found.mean, found.hallucination) == (0, None, None)


def test_quartiles_are_of_the_first_and_the_last_quarter() -> None:
    assert quartiles([1, 2, 3, 4, 5, 6, 7, 8, 9]) == Quartiles(1.5, 8)
    assert quartiles([1, 2, 3]) is None


@pytest.mark.skipif("RECALL_BENCH_180D" not in os.environ, reason="RECALL_BENCH_180D names no folder with the data")
@pytest.mark.parametrize("run", ["ea-180d-mempalace-baseline", "ea-180d-recall-baseline", "ea-180d-openclaw"])
def test_published_checkpoints_come_to_the_same(run: str) -> None:
    folder = Path(os.environ["RECALL_BENCH_180D"]) / "results" / run
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    for published in result["personas"][0]["rangeResults"]:
        found = summarize(map(_evaluation, published["questionResults"]))
        assert found.mean == pytest.approx(published["overallScore"], abs=1e-12)
        assert found.hallucination is not None
        assert 100 * found.hallucination == pytest.approx(published["hallucinationRate"], abs=1e-12)
        for category, given in zip(found.categories, published["categoryScores"], strict=True):
            assert (category.category, list(category.scores)) == (given["category"], given["scores"])
            assert (category.mean or 0) == pytest.approx(given["meanScore"], abs=1e-12)
        for name, (mean, count) in found.difficulties.items():
            assert count == published["difficultyScores"][name]["count"]
            assert (mean or 0) == pytest.approx(published["difficultyScores"][name]["mean"], abs=1e-12)


def _evaluation(given: dict[str, object]) -> CheckpointTrial:
    qa, score = given["qa"], given["score"]
    assert isinstance(qa, dict)
    assert isinstance(score, dict)
    asked = question(qa["id"], *qa["relevantDays"], category=qa["category"], difficulty=qa["difficulty"])
    return evaluation(asked, score["correctness"], score["completeness"], score["hallucination"])
