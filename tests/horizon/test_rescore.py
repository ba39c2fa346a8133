"""Rescoring: numbers that are right agree, and a wrong one is found, whichever it is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.merging import progress
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.rescore import Difference, Rescored, rescore
from tests.helpers.horizon_runs import SMALL, Stops, any_stops, run_of


def written(stops: Stops, change: dict[tuple[str | int, ...], Any] | None = None) -> PublishedRun:
    """Return a run whose result says what its answers come to, but for the changes, by their paths."""
    run = run_of(stops)
    plain = json.loads(json.dumps(result_json(run)))
    for path, value in (change or {}).items():
        inner = plain
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
    rows = plain["personas"][0]["rangeResults"]
    return replace(
        run, written=plain, stops=tuple(replace(stop, written=row) for stop, row in zip(run.stops, rows, strict=True))
    )


STOP = ("personas", 0, "rangeResults", 1)


@given(any_stops())
def test_what_is_right_agrees(stops: Stops) -> None:
    run = written(stops)
    found = rescore(run, progress(run), run.evaluations)
    assert found.differences == ()
    assert found.compared > 50


@given(
    st.sampled_from(
        [
            (*STOP, "overallScore"),
            (*STOP, "hallucinationRate"),
            (*STOP, "questionsEvaluated"),
            (*STOP, "categoryScores", 0, "meanScore"),
            (*STOP, "categoryScores", 6, "questionCount"),
            (*STOP, "difficultyScores", "hard", "mean"),
            ("personas", 0, "heatmap", 3, "score"),
            ("personas", 0, "totalEvalsRun"),
            ("heatmap", 12, "questionCount"),
            ("metadata", "totalEvalsRun"),
            ("metadata", "appellateInvocations"),
        ]
    )
)
def test_a_wrong_number_is_found(path: tuple[str | int, ...]) -> None:
    found = rescore(written(SMALL, {path: 1.25}))
    assert [one.written for one in found.differences] == [1.25]


def test_a_difference_names_its_place() -> None:
    found = rescore(written(SMALL, {(*STOP, "overallScore"): 5.0, (*STOP, "thirdOutcomes"): {}}))
    assert found.differences == (
        Difference("result.json: 20d, overallScore", 5.0, 14 / 3),
        Difference("result.json: 20d, thirdOutcomes", {}, {"timeout": 1}),
    )


def test_a_difference_in_the_thirteenth_digit_is_none() -> None:
    assert rescore(written(SMALL, {(*STOP, "overallScore"): 14 / 3 * (1 + 1e-13)})).differences == ()
    assert len(rescore(written(SMALL, {(*STOP, "overallScore"): 14 / 3 * (1 + 1e-11)})).differences) == 1


def test_lines_of_progress_are_compared_too() -> None:
    run = written(SMALL)
    lines = progress(run)
    lines[2]["hallucinationRate"] = 7
    lines[-1]["totalEvalsRun"] = 8
    assert [one.place for one in rescore(run, lines).differences] == [
        "progress.jsonl: 20d, hallucinationRate",
        "progress.jsonl: summary, totalEvalsRun",
    ]


def test_points_in_the_lines_of_questions_must_be_those_of_the_result() -> None:
    run = written(SMALL)
    lines = run.evaluations
    missing, other = lines[1], lines[0].with_facts(points=lines[1].points)
    found = rescore(run, (), [other, *lines[2:]])
    assert [one.place for one in found.differences] == [
        "questions.jsonl: 10d q001, score",
        "questions.jsonl: 10d q002, score",
    ]
    assert found.differences[1].written is None
    assert missing.points is not None
    assert found.differences[1].computed == list(missing.points[:3])


def test_of_a_question_that_was_asked_again_the_last_line_counts() -> None:
    run = written(SMALL)
    first = run.evaluations[0].with_facts(points=None, failure="memory")
    assert rescore(run, (), [first, *run.evaluations]).differences == ()


def test_a_run_without_a_result_has_nothing_to_compare() -> None:
    assert rescore(run_of(SMALL)) == Rescored(0, ())
