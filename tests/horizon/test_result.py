"""Results: what a run's evaluations come to in `result.json`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.profile import RunPart
from pytest_recall.horizon.published import summary_line
from pytest_recall.horizon.question import Checkpoint, Range
from pytest_recall.horizon.result import Configuration, Reached, duration, result
from tests.horizon.questions import MADE_UP, PERFECT, boundary, evaluation, question

CONFIGURATION = Configuration(
    memory="sqlite-fts",
    persona="clerk",
    arcs="arcs-60d.yaml",
    dates="calendar",
    run=RunPart.model_validate({"ranges": [3]}),
    judge="openai:judge",
    judge_version="1",
)


def reached(*evaluations: CheckpointTrial) -> Reached:
    asked = tuple(one.question for one in evaluations)
    eligible = Counter[str](one.category for one in asked)
    return Reached(Checkpoint(1, Range("3d", 3), 3, asked, len(asked), 0, 0, eligible), evaluations)


def test_only_answers_with_points_are_in_the_means_and_the_results() -> None:
    one = reached(
        evaluation(),
        evaluation(MADE_UP, question=question("q2")),
        evaluation(None, failure="timeout", error="late", question=question("q3")),
        evaluation(PERFECT, question=boundary()),
    )
    plain = result(CONFIGURATION, [one], timestamp="now", pairs=9, ingest_ms={"3d": 5}, duration_ms=7)
    persona = plain["personas"][0]
    (found,) = persona["rangeResults"]
    assert (found["questionsEvaluated"], found["overallScore"]) == (3, 4.0)
    assert found["hallucinationRate"] == pytest.approx(100 / 3)
    assert found["thirdOutcomes"] == {"timeout": 1}
    assert [one["qa"]["id"] for one in found["questionResults"]] == ["q1", "q2", "b1"]
    assert [one["error"] for one in found["questionFailures"]] == ["late"]
    assert (persona["totalEvalsRun"], persona["uniqueQAPairCount"]) == (3, 9)
    assert plain["disclosureRates"]["leak"] == {"rate": 0.0, "count": 0, "n": 1, "unknown": 0}
    assert plain["disclosureRates"]["overRefusal"] == {"rate": None, "count": 0, "n": 0, "unknown": 0}
    assert len(plain["heatmap"]) == 10
    assert plain["metadata"]["usd"] is None, "what one of them cost is not known"
    assert summary_line("then", plain["metadata"])["totalEvalsRun"] == 3
    assert persona["totalIngestionMs"] == 5
    unknown = result(CONFIGURATION, [one], timestamp="now", pairs=9, ingest_ms={}, duration_ms=7)
    assert "totalIngestionMs" not in unknown["personas"][0], "it is not known any more"


def test_what_words_alone_do_not_measure_is_null_and_not_zero() -> None:
    lexical = replace(CONFIGURATION, judge="lexical")
    one = reached(evaluation(), evaluation(PERFECT, question=boundary()), evaluation(question=boundary("b2", "answer")))
    plain = result(lexical, [one], timestamp="now", pairs=9, ingest_ms={"3d": 5}, duration_ms=7)
    assert plain["metadata"]["hallucinationMeasured"] is False
    assert plain["personas"][0]["rangeResults"][0]["hallucinationRate"] is None
    rates = {name: group["hallucinationRate"] for name, group in plain["disclosureBreakdown"].items()}
    assert rates == {"refuse": 0, "answer": None}
    measured = result(CONFIGURATION, [one], timestamp="now", pairs=9, ingest_ms={"3d": 5}, duration_ms=7)
    assert "hallucinationMeasured" not in measured["metadata"]


def test_what_it_cost_is_a_sum_where_all_is_known() -> None:
    one = reached(evaluation(usd=0.5), evaluation(usd=0.25, question=question("q2")))
    plain = result(CONFIGURATION, [one], timestamp="now", pairs=9, ingest_ms={"3d": 5}, duration_ms=7)
    assert plain["metadata"]["usd"] == 0.75
    assert "disclosureRates" not in plain


def test_the_time_between_a_stop_and_the_next_start_is_not_counted() -> None:
    starts = ["2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z", "2026-01-01T02:00:00.000Z"]
    stamps = ["2026-01-01T01:00:02.500Z", "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:03.000Z"]
    assert duration(starts, stamps) == 5500
    assert duration(starts, []) == 0
