"""Runs: a folder is read anyone who wrote it, and a mistake in it is one sentence with its place."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.rescore import rescore
from pytest_recall.horizon.run_file import answered_at, read_lines
from pytest_recall.horizon.runs import read_run
from tests.helpers.horizon_runs import SMALL, Stops, any_stops, run_of, write_lines, write_run
from tests.helpers.horizon_runs import read_lines as rows_of

OFTEN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12, deadline=None)


@OFTEN
@given(any_stops())
def test_a_run_is_read_and_its_numbers_agree(tmp_path: Path, stops: Stops) -> None:
    folder = write_run(tmp_path / "run", stops)
    run, lines = read_run(folder), read_lines(folder)
    assert [one.points for one in run.evaluations if one.points] == [
        one.points for one in run_of(stops).evaluations if one.points
    ]
    assert rescore(run, [*lines.checkpoints, lines.summary], lines.questions).differences == ()


@OFTEN
@given(any_stops())
def test_lines_alone_come_to_the_same(tmp_path: Path, stops: Stops) -> None:
    folder = write_run(tmp_path / "run", stops)
    whole = read_run(folder)
    (folder / "result.json").unlink()
    without = read_run(folder)
    assert [stop.summary() for stop in without.stops] == [stop.summary() for stop in whole.stops]


def test_what_lines_say_beside_the_result_is_added(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, SMALL))
    assert all(one.retrieval for one in run.evaluations)
    assert run.evaluations[0].timestamp == "2026-01-01T01:00:00.000Z"
    assert run.stops[0].finished == "2026-01-01T01:30:00.000Z"


def test_third_outcomes_come_from_the_lines_where_a_result_lacks_them(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL)
    plain = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    del plain["personas"][0]["rangeResults"][1]["questionFailures"]
    (folder / "result.json").write_text(json.dumps(plain), encoding="utf-8")
    assert [one.failure for one in read_run(folder).stops[1].evaluations] == [None, None, None, "timeout"]


def test_a_question_that_was_asked_again_is_there_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL)
    rows = rows_of(folder / "questions.jsonl")
    failed = {name: value for name, value in rows[0].items() if name not in ("score", "composite")}
    write_lines(folder / "questions.jsonl", [{**failed, "failure": "memory", "error": "gone"}, *rows])
    (folder / "result.json").unlink()
    run = read_run(folder)
    assert [one.question.id for one in run.stops[0].evaluations] == ["q001", "q002", "q003"]
    assert run.stops[0].evaluations[0].points is not None


def test_lines_that_a_killed_run_began_are_passed_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL)
    for name in ("questions.jsonl", "progress.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text('{"timestamp": "2026\n' + text + '{"type": "check', encoding="utf-8")
    assert len(read_run(folder).evaluations) == 11


def test_progress_alone_is_a_run_without_answers(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL, questions=False)
    (folder / "result.json").unlink()
    run = read_run(folder)
    assert run.evaluations == []
    assert [stop.written and stop.written["questionsEvaluated"] for stop in run.stops] == [3, 3, 4]


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("result.json", '"correctness": 3', '"correctness": 7', "questionResults[0]: score.correctness: 7 is not from"),
        ("result.json", '"daysIngested": 10', '"daysIngested": null', "rangeResults[0]: says no `range.label` or no"),
        ("result.json", '"personas": [', '"personas": 3, "x": [', "result.json: personas: is not a list of objects"),
        ("result.json", '"seed": 42', '"seed": 42, "seed": 43', "result.json: not JSON (`seed` is written twice)"),
        ("result.json", '"seed": 42', '"seed": ', "result.json:"),
        (
            "questions.jsonl",
            '"retrieval": [{',
            '"retrieval": [3, {',
            "questions.jsonl:1: retrieval: is not a list of objects",
        ),
        (
            "questions.jsonl",
            '"day": 10',
            '"day": "x"',
            "questions.jsonl:1: checkpoint: '10d' is not a label, or 'x' no day",
        ),
        (
            "progress.jsonl",
            '"overallScore": ',
            '"overallScore": "x", "y": ',
            "progress.jsonl:2: overallScore is not a number",
        ),
        (
            "progress.jsonl",
            '"overallScore": ',
            '"newUnits": [["day-0001"]], "overallScore": ',
            "progress.jsonl:2: newUnits: is not a list of ids and their tokens",
        ),
        (
            "result.json",
            '"meanScore": ',
            '"meanScore": null, "y": ',
            "rangeResults[0].categoryScores[0].meanScore is no",
        ),
        ("questions.jsonl", '"composite": 6', '"composite": 5', "questions.jsonl:1: composite: 5 is not 6, the sum"),
        (
            "progress.jsonl",
            '"daysIngested": 10',
            '"daysIngested": "x"',
            "progress.jsonl:2: says no `range.label` or",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, file: str, old: str, new: str, told: str) -> None:
    folder = write_run(tmp_path, SMALL)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RecallError) as raised:
        read_run(folder)
    assert told in raised.value.messages[0]
    assert "\n" not in raised.value.messages[0]


def test_checkpoints_whose_answers_are_lost_are_not_taken_for_empty_ones(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL, questions=False)
    plain = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    # As a published run that was resumed after the first checkpoint.
    row = plain["personas"][0]["rangeResults"][0]
    row["questionResults"] = []
    (folder / "result.json").write_text(json.dumps(plain), encoding="utf-8")
    run, lines = read_run(folder), read_lines(folder)
    found = rescore(run, [*lines.checkpoints, lines.summary])
    assert (found.differences, found.hollow) == ((), ("10d",))
    assert found.compared > 50


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=r"holds neither result\.json nor a checkpoint in progress\.jsonl"):
        read_run(tmp_path)
    with pytest.raises(RecallError, match="no such directory"):
        read_run(tmp_path / "nowhere")


def test_published_lines_go_to_the_checkpoint_that_ended_after_them(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SMALL, labelled=False)
    whole = read_run(folder)
    (folder / "result.json").unlink()
    without = read_run(folder)
    assert [replace(stop, written=None) for stop in without.stops] == [
        replace(stop, written=None, evaluations=other.evaluations)
        for stop, other in zip(whole.stops, without.stops, strict=True)
    ]
    assert [len(stop.evaluations) for stop in without.stops] == [3, 4, 4]


def test_answers_are_as_old_as_the_journal_or_without_one_as_the_files_of_the_run(tmp_path: Path) -> None:
    def at(name: str, seconds: int) -> None:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (seconds, seconds))

    assert answered_at(tmp_path) == 0
    at("result.json", 30)
    at("questions.jsonl", 20)
    assert answered_at(tmp_path) == 30 * 10**9
    at("trials.jsonl", 10)
    assert answered_at(tmp_path) == 10 * 10**9
