"""Aggregates: a run is written as it was read, and what has no points is in no mean."""

from __future__ import annotations

import json

from hypothesis import given

from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.published import evaluation_of, result_of
from tests.helpers.horizon_runs import CLOSE, MADE_UP, RIGHT, SMALL, WRONG, Asked, Stops, any_stops, result, run_of


@given(any_stops())
def test_results_are_written_as_they_are_read(stops: Stops) -> None:
    for asked in stops.values():
        for one in asked:
            plain = result_of(evaluation_of(result(one)))
            plain["qa"].pop("requiresSynthesis")
            assert plain == result(one)


def test_answers_without_points_are_kept_apart() -> None:
    plain = json.loads(json.dumps(result_json(run_of(SMALL))))
    stop = plain["personas"][0]["rangeResults"][1]
    assert [one["qa"]["id"] for one in stop["questionResults"]] == ["q001", "q002", "q004"]
    assert [one["failure"] for one in stop["questionFailures"]] == ["timeout"]
    assert (stop["questionsEvaluated"], stop["thirdOutcomes"]) == (3, {"timeout": 1})
    assert plain["metadata"]["totalEvalsRun"] == 10


def test_boundary_questions_are_counted_by_what_was_right() -> None:
    scores = (("refuse", RIGHT), ("refuse", MADE_UP), ("answer", WRONG), ("answer", CLOSE))
    asked = [
        Asked(id=f"q{n}", score=score, category="information-boundary", disclosure=expected)
        for n, (expected, score) in enumerate(scores)
    ]
    assert result_json(run_of({10: asked}))["disclosureBreakdown"] == {
        "refuse": {"evaluations": 2, "uniquePairs": 2, "meanScore": 4.0, "hallucinationRate": 50.0},
        "answer": {"evaluations": 2, "uniquePairs": 2, "meanScore": 2.5, "hallucinationRate": 0.0},
    }
    assert "disclosureBreakdown" not in result_json(run_of(SMALL))
