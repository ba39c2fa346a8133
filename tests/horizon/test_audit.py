"""Audit: what is exported can be filled in, and nothing that was filled in is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.audit import FOLDER, STALE, export, file_of, read_regrades, stops_of, write_defects
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.regrade import audited
from pytest_recall.horizon.run_text import page
from pytest_recall.horizon.runs import read_run
from tests.helpers.horizon_runs import CLOSE, SMALL, WRONG, Asked, fill, read_lines, write_lines, write_run

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that is exported."""
    write_run(tmp_path / "run", SMALL)
    again(tmp_path / "run")
    return tmp_path / "run"


def again(folder: Path, seed: int = 42, corpus: Corpus | None = None) -> list[int]:
    """Export, and return how many items each file has."""
    run = read_run(folder)
    return [one.items for one in export(folder, run, stops_of(run, None), seed, corpus, page)]


def test_an_item_has_what_is_needed_to_judge_it(folder: Path) -> None:
    rows = read_lines(folder / FOLDER / "10d.jsonl")
    assert [(row["questionId"], row["chosen"]) for row in rows] == [
        ("q003", ["failure"]),
        ("q002", ["below 6"]),
        ("q001", ["perfect, drawn"]),
    ]
    assert rows[0] == {
        "personaId": "someone",
        "checkpoint": "10d",
        "questionId": "q003",
        "chosen": ["failure"],
        "category": "negative-recall",
        "difficulty": "easy",
        "relevantDays": [1],
        "question": "What of q003?",
        "referenceAnswer": "The reference of q003.",
        "systemAnswer": "It was 42.",
        "score": {"correctness": 0, "completeness": 0, "hallucination": 1},
        "composite": 1,
        "primaryScore": {"correctness": 1, "completeness": 1, "hallucination": 0},
        "retrieval": [{"path": "day-0001.md", "snippet": "It was."}],
        "grade": "",
        "cause": "",
        "corrected": None,
        "why": "",
    }
    assert "## `q003`: 1 of 6, failure" in (folder / FOLDER / "10d.md").read_text(encoding="utf-8")


def test_texts_of_the_days_stand_beside_and_stay(folder: Path, tmp_path: Path) -> None:
    memories = tmp_path / "persona" / "memories-30d"
    memories.mkdir(parents=True)
    (memories / "day-0001.md").write_text("---\ntype: daily\n---\n\n# session: principal\n\nIt was 42.\n", "utf-8")
    again(folder, corpus=Corpus(tmp_path / "persona", "arcs-30d.yaml"))
    shown = [{"day": 1, "text": "# session: principal\n\nIt was 42."}]
    assert [row["evidence"] for row in read_lines(folder / FOLDER / "30d.jsonl")] == [shown, shown]
    fill(folder, "30d", q001={"grade": "case_defect"})
    again(folder)
    assert [row["evidence"] for row in read_lines(folder / FOLDER / "30d.jsonl")] == [shown, shown]


def test_exporting_again_loses_nothing_that_is_written(folder: Path) -> None:
    perfect = [row["questionId"] for row in read_lines(folder / FOLDER / "30d.jsonl") if row["composite"] == 6]
    said = {"grade": "agree", "why": "I looked."}
    fill(folder, "30d", **{perfect[0]: said, "q001": {"why": "not sure"}})
    for seed in range(8):
        again(folder, seed)
        rows = {row["questionId"]: row for row in read_lines(folder / FOLDER / "30d.jsonl")}
        assert {name: rows[perfect[0]][name] for name in said} == said
        assert rows["q001"]["why"] == "not sure"
    before = (folder / FOLDER / "30d.jsonl").read_bytes()
    again(folder, 7)
    assert (folder / FOLDER / "30d.jsonl").read_bytes() == before


def test_what_was_said_of_another_answer_is_put_aside(folder: Path) -> None:
    fill(folder, "10d", q002={"grade": "case_defect", "why": "the date"})
    write_run(folder, {**SMALL, 10: [Asked(id="q002", score=CLOSE, answer="It was 43.")]})
    again(folder)
    assert [row["grade"] for row in read_lines(folder / FOLDER / "10d.jsonl")] == [""]
    assert [(row["questionId"], row["why"]) for row in read_lines(folder / FOLDER / STALE)] == [("q002", "the date")]


def test_a_broken_file_is_not_written_over(folder: Path) -> None:
    path = folder / FOLDER / "20d.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + "{verdict\n", encoding="utf-8")
    before = {file.name: file.read_bytes() for file in (folder / FOLDER).iterdir()}
    with pytest.raises(RecallError, match=r"20d\.jsonl:4: not JSON"):
        again(folder, 3)
    assert {file.name: file.read_bytes() for file in (folder / FOLDER).iterdir()} == before


def test_grades_are_read_back(folder: Path) -> None:
    right = {"correctness": 3, "completeness": 2, "hallucination": 1}
    fill(
        folder,
        "10d",
        q001={"grade": "agree"},
        q002={"grade": "judge_false_negative", "corrected": right},
        q003={"grade": " system_failure ", "cause": "src/rank.py:8", "why": "ranked last"},
    )
    read = read_regrades(folder, read_run(folder))
    assert (read.files, read.waiting) == (3, 5)
    found = {one.evaluation.question.id: one for one in read.regrades}
    assert (found["q003"].grade, found["q003"].cause, found["q003"].why) == (
        "system_failure",
        "src/rank.py:8",
        "ranked last",
    )
    assert found["q002"].corrected == (3, 2, 1, "")
    assert audited(read_run(folder), read.regrades).audited.mean == pytest.approx(4.7)


def test_items_with_earlier_names_are_read_and_written_by_those_of_today(folder: Path) -> None:
    path = folder / FOLDER / "10d.jsonl"
    said = {
        "q001": {"verdict": "judge-right"},
        "q002": {"verdict": "qa-defect", "note": "the date"},
        "q003": {"verdict": "system-failure", "cause": "src/rank.py:8"},
    }
    earlier = []
    for row in read_lines(path):
        chosen, _, _ = row.pop("chosen"), row.pop("grade"), row.pop("why")
        earlier.append({**row, "why": chosen[0], "verdict": "", "note": "", **said[row["questionId"]]})
    write_lines(path, earlier)
    read = {one.evaluation.question.id: one for one in read_regrades(folder, read_run(folder)).regrades}
    assert {id: (one.grade, one.why) for id, one in read.items()} == {
        "q001": ("agree", ""),
        "q002": ("case_defect", "the date"),
        "q003": ("system_failure", ""),
    }
    again(folder)
    rows = {row["questionId"]: row for row in read_lines(path)}
    assert (rows["q002"]["chosen"], rows["q002"]["grade"], rows["q002"]["why"]) == (
        ["below 6"],
        "case_defect",
        "the date",
    )
    assert not {"verdict", "note"} & rows["q002"].keys()


def test_a_verdict_that_is_written_into_an_item_of_today_is_its_grade(folder: Path) -> None:
    fill(folder, "10d", q002={"verdict": "qa-defect", "note": "the date"})
    (read,) = read_regrades(folder, read_run(folder)).regrades
    assert (read.grade, read.why) == ("case_defect", "the date")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"grade": "case_defekt"}, "10d.jsonl:1: grade: `case_defekt` is unknown; did you mean `case_defect`?"),
        ({"grade": 3}, "10d.jsonl:1: grade: 3 is not text; write it in quotes, or leave it empty"),
        ({"cause": "a.py:1"}, "10d.jsonl:1: grade: is empty, but there is a cause, or corrected points; write one"),
        (
            {"grade": "judge_false_negative", "corrected": 6},
            "10d.jsonl:1: corrected: is missing, or no object; ",
        ),
        (
            {"grade": "judge_false_negative", "corrected": {"correctness": 9, "completeness": 2, "hallucination": 1}},
            "10d.jsonl:1: corrected.correctness: 9 is not from 0 to 3; write {",
        ),
        ({"grade": "judge_false_negative", "corrected": {}}, "10d.jsonl:1: corrected: correctness is missing; write"),
        ({"grade": "case_defect", "systemAnswer": "x"}, "10d.jsonl:1: systemAnswer: the run has another answer or"),
        ({"questionId": "q9"}, "10d.jsonl:1: questionId: 'q9' was not asked at 10d; restore the line"),
    ],
)
def test_a_mistake_is_named_with_its_line(folder: Path, said: dict[str, Any], told: str) -> None:
    fill(folder, "10d", q003=said)
    with pytest.raises(RecallError) as raised:
        read_regrades(folder, read_run(folder))
    assert told in str(raised.value)


def test_a_grade_that_is_there_twice_is_refused(folder: Path) -> None:
    fill(folder, "10d", q003={"grade": "case_defect"})
    rows = read_lines(folder / FOLDER / "10d.jsonl")
    write_lines(folder / FOLDER / "10d.jsonl", [*rows, rows[0]])
    with pytest.raises(RecallError, match=r"10d\.jsonl:4: questionId: 'q003' is there twice; leave one"):
        read_regrades(folder, read_run(folder))


def test_defects_are_queued_once_for_each_question(folder: Path) -> None:
    fill(folder, "10d", q002={"grade": "case_defect", "why": "the date"})
    fill(folder, "20d", q002={"grade": "case_defect", "why": "the date"})
    regrades = read_regrades(folder, read_run(folder)).regrades
    assert write_defects(folder, regrades) == 1
    assert json.loads((folder / FOLDER / "defects.jsonl").read_text(encoding="utf-8")) == {
        "personaId": "someone",
        "questionId": "q002",
        "question": "What of q002?",
        "referenceAnswer": "The reference of q002.",
        "relevantDays": [1],
        "checkpoints": ["10d", "20d"],
        "notes": ["the date"],
    }
    assert write_defects(folder, []) == 0
    assert (folder / FOLDER / "defects.jsonl").read_text(encoding="utf-8") == ""


def test_an_unknown_checkpoint_is_named(folder: Path) -> None:
    with pytest.raises(RecallError, match="--checkpoint: `1Od` is unknown; did you mean `10d`"):
        stops_of(read_run(folder), "1Od")


def test_labels_are_no_paths(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, {10: [Asked(id="a", score=WRONG)]}))
    labels = ("10d", "a/../b", "defects", ".hidden")
    names = [file_of(run, stop) for stop in (replace(run.stops[0], label=label) for label in labels)]
    assert names == ["10d.jsonl", "a_.._b.jsonl", "_defects.jsonl", "_.hidden.jsonl"]
