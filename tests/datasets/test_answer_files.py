"""Files of published answers, of corrections and of labels: what in them is refused, line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_recall.datasets.answer_files import (
    AnswerFile,
    AnswerKey,
    read_answers,
    read_key,
    read_overlay,
    read_people,
)
from pytest_recall.datasets.file import Format, open_dataset, sample_path
from pytest_recall.datasets.overlay import digest_of_key
from tests.schedule.state_samples import problem, problems


def key_of(format: Format) -> AnswerKey:
    """Return the key of a sample."""
    return read_key(open_dataset(sample_path(format), "sample", format))


def lines(path: Path, *rows: Any) -> Path:
    """Write rows as JSON lines, and return the path."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_answers_to_another_dataset_are_in_no_known_format(tmp_path: Path) -> None:
    told = problem(lambda: read_answers(lines(tmp_path / "a.jsonl", {}), key_of("dmr")))
    assert told == "answers to dmr are published in no format that is known; use locomo, longmemeval"


def test_a_question_is_answered_once(tmp_path: Path) -> None:
    key = key_of("longmemeval")
    one = {"question_id": next(iter(key.questions)), "hypothesis": "yes"}
    path = lines(tmp_path / "a.jsonl", one, one)
    told = problem(lambda: read_answers(path, key))
    assert told == f"{path}: row 2: question_id: {one['question_id']!r} is answered twice; keep one"


def test_a_file_is_of_one_format(tmp_path: Path) -> None:
    mem0 = {"question": "Who?", "response": "I", "answer": "you"}
    zep = {"question": "Who?", "answer": "I", "golden_answer": "you"}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"0": [mem0, zep]}), encoding="utf-8")
    told = problem(lambda: read_answers(path, key_of("locomo")))
    assert told == f"{path}: mixes `response` and `golden_answer`, of two formats; keep to one"


def test_a_question_is_corrected_once(tmp_path: Path) -> None:
    key = key_of("locomo")
    [*places] = key.in_places()
    entry = {
        "sample_id": places[0].sample,
        "index": places[0].number,
        "sha256": digest_of_key(places[0].text, places[0].reference),
        "answer": "otherwise",
        "reason": "It says so.",
    }
    path = lines(tmp_path / "o.jsonl", entry, entry)
    told = problem(lambda: read_overlay(str(path), "locomo", key.in_places()))
    assert told == f"{path}:2: {places[0].id} is corrected twice; keep one line"


def answered(name: str) -> AnswerFile:
    """Return a file that answers two questions."""
    return AnswerFile(name, "a format", {"q1": "yes", "q2": "no"}, 0)


def test_labels_are_of_answers_that_there_are_and_say_pass_or_fail_once(tmp_path: Path) -> None:
    good = {"file": "one.json", "id": "q1", "label": "pass"}
    path = lines(tmp_path / "l.jsonl", good, {**good, "id": "q2", "label": "fail"})
    assert read_people(path, [answered("a/one.json")]) == {("a/one.json", "q1"): True, ("a/one.json", "q2"): False}
    wrong = [{**good, "file": "on.json"}, {**good, "id": "q3"}, {**good, "id": "q2", "label": "good"}, good]
    lines(path, good, *wrong)
    assert problems(lambda: read_people(path, [answered("a/one.json")])) == (
        f"{path}:2: file: 'on.json' is not judged here; did you mean `one.json`?",
        f"{path}:3: id: one.json has no answer to 'q3'",
        f"{path}:4: label: write `pass` or `fail`",
        f"{path}:5: q1 of one.json is labelled twice; keep one line",
    )


def test_labels_need_files_of_different_names(tmp_path: Path) -> None:
    told = problem(lambda: read_people(tmp_path / "l.jsonl", [answered("a/one.json"), answered("b/one.json")]))
    assert told == "labels name answer files without their folders, and two are called the same; rename one"
