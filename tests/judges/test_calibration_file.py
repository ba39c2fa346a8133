"""Calibration file: rows by judge, what a later version adds, and sentences about mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.judges.calibration_file import append_labels, read_calibrations, read_labels, write_calibrations
from pytest_recall.metrics.agreement import Confusion

NAME = "eval/calibration.yaml"


def read(folder: Path, text: str) -> dict[JudgeKey, Calibration]:
    """Write a calibration file and read it."""
    path = folder / "calibration.yaml"
    path.write_text(text, encoding="utf-8")
    return read_calibrations(path, NAME)


def test_no_file_is_no_calibration(tmp_path: Path) -> None:
    assert read_calibrations(tmp_path / "calibration.yaml", NAME) == {}


def test_a_row_for_each_judge(tmp_path: Path) -> None:
    text = """\
written_by: a later version
judges:
  - {judge: rubric, model: "openai:m", version: 1a2b3c4d, kappa: 0.81, n: 120, on: 2026-05-01}
  - {judge: memory, model: "openai:m", version: "00000000", kappa: -0.1, n: 1}
"""
    assert read(tmp_path, text) == {
        JudgeKey("rubric", "openai:m", "1a2b3c4d"): Calibration(0.81, 120),
        JudgeKey("memory", "openai:m", "00000000"): Calibration(-0.1, 1),
    }


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        ("labelled_passes: 60, false_passes: 10, false_fails: 4", Confusion(56, 10, 50, 4)),
        ("labelled_passes: 0, false_passes: 120, false_fails: 0", Confusion(0, 120, 0, 0)),
        # As versions wrote that did not say how many people passed.
        ("false_passes: 10, false_fails: 4", None),
        ("labelled_passes: 60", None),
    ],
)
def test_who_said_what_is_counted_where_all_of_it_is_there(
    tmp_path: Path, counts: str, labels: Confusion | None
) -> None:
    row = f"judge: rubric, model: m, version: v, kappa: 0.5, n: 120, {counts}, threshold: 0.7"
    (found,) = read(tmp_path, f"judges:\n  - {{{row}}}\n").values()
    assert found == Calibration(0.5, 120, labels=labels, threshold=0.7)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- a\n", "1: must be a mapping; start with `judges:` and a list"),
        ("judges:\n  - judge: rubric\n    model: m\n    version: v\n    kappa: 2\n    n: 9\n", "5: judges.0.kappa: "),
        ("judges:\n  - {judge: a, model: m, version: v, kappa: 1}\n", "2: judges.0.n: is missing; add it"),
        ("judges:\n  - {judge: a, model: m, version: 12345678, kappa: 1, n: 1}\n", "2: judges.0.version: 12345678 is"),
        ("judges: [\n", "2: "),
        (
            "judges:\n  - {judge: a, model: m, version: v, kappa: 1, n: 10, labelled_passes: 5, false_passes: 6,"
            " false_fails: 1}\n",
            "2: judges.0: 10 labels, of which 5 are passes, leave no room for 6 false passes and 1 false fails",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(RecallError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{NAME}:{sentence}")


ROW = {"judge": "rubric", "model": "m", "version": "v1", "kappa": 0.5, "interval": [0.25, 0.75], "n": 9, "by": "us"}


def test_rows_are_sorted_and_take_the_place_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "calibration.yaml"
    write_calibrations(path, NAME, [ROW, {**ROW, "judge": "memory"}])
    write_calibrations(path, NAME, [{**ROW, "kappa": 0.625}, {**ROW, "version": "12345678"}])
    assert read_calibrations(path, NAME) == {
        JudgeKey("memory", "m", "v1"): Calibration(0.5, 9, 0.25),
        JudgeKey("rubric", "m", "12345678"): Calibration(0.5, 9, 0.25),
        JudgeKey("rubric", "m", "v1"): Calibration(0.625, 9, 0.25),
    }
    rows = [line for line in path.read_text().splitlines() if line.startswith("  - ")]
    assert rows == sorted(rows)
    assert all('by: "us"' in line for line in rows)


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "calibration.yaml"
    path.write_text("owner: us\njudges:\n  - {judge: a, model: m, version: v, kappa: 1, n: 1, note: é}\n")
    write_calibrations(path, NAME, [ROW])
    text = path.read_text(encoding="utf-8")
    assert 'owner: "us"' in text
    assert 'note: "é"' in text
    assert len(read_calibrations(path, NAME)) == 2


def test_a_file_that_is_broken_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "calibration.yaml"
    path.write_text("judges: [\n")
    with pytest.raises(RecallError):
        write_calibrations(path, NAME, [ROW])
    assert path.read_text() == "judges: [\n"


# Labels files: what is read from them, and the sentence for each line that is not a label


LABEL = {"id": "a", "question": "What?", "answer": "That.", "label": "pass"}


def written(folder: Path, *lines: Any) -> Path:
    """Return a labels file with these lines; what is not text is written as JSON."""
    path = folder / "labels.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(("given", "verdict"), [("pass", True), ("fail", False), (True, True), (False, False)])
def test_a_verdict_in_words_or_as_truth(tmp_path: Path, given: object, verdict: bool) -> None:
    ((label, line),) = read_labels(written(tmp_path, "", {**LABEL, "label": given}), "l")
    assert (label.label, line) == (verdict, 2)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "l:2: not JSON (*; write one object per line"),
        ("[1]", "l:2: is not an object; write one per line, in braces"),
        ('{"id": "b", "id": "c"}', "l:2: not JSON (`id` is written twice); write one object per line"),
        ({**LABEL, "id": "b", "label": "good"}, 'l:2: label: \'good\' is no verdict; write "pass" or "fail"'),
        ({**LABEL, "id": "b", "label": 1}, 'l:2: label: 1 is no verdict; write "pass" or "fail"'),
        ({**LABEL, "id": "b", "anwser": ""}, "l:2: anwser: unknown field; did you mean `answer`?"),
        ({"id": "b", "question": "x", "label": "pass"}, "l:2: answer: is missing; add it"),
        ({**LABEL, "id": "b c"}, "l:2: id: 'b c' does not fit; *"),
        ({**LABEL, "id": "b", "score": 2}, "l:2: score: *"),
        ({**LABEL, "id": "b", "criteria": ["x"], "arguments": {"criteria": ["y"]}}, "l:2: give `criteria` once, *"),
        (LABEL, "l:2: id: `a` is already on line 1; choose another"),
    ],
    ids=str,
)
def test_a_line_that_is_none_is_one_sentence(tmp_path: Path, line: Any, sentence: str) -> None:
    with pytest.raises(RecallError) as caught:
        read_labels(written(tmp_path, LABEL, line), "l")
    (told,) = caught.value.messages
    head, star, tail = sentence.partition("*")
    assert told == sentence if not star else told.startswith(head) and told.endswith(tail)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecallError) as caught:
        read_labels(written(tmp_path, "{", {}, "[]"), "l")
    assert [message.split(":")[1] for message in caught.value.messages] == ["1", "2", "2", "2", "2", "3"]


def test_an_empty_file_has_no_labels(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match="l:1: has no labels; write one object per line"):
        read_labels(written(tmp_path, ""), "l")


def test_labels_are_added_once_and_the_others_are_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, LABEL)
    path.write_text(path.read_text().removesuffix("\n"))
    before = path.read_text()
    other = {**LABEL, "id": "b"}
    assert append_labels(path, "l", [LABEL, other]) == 1
    assert append_labels(path, "l", [LABEL, other]) == 0
    assert path.read_text() == f"{before}\n{json.dumps(other)}\n"
    assert [one.label.id for one in read_labels(path, "l")] == ["a", "b"]
    with pytest.raises(RecallError, match="l:2: `b` is labelled 'pass', and was graded 'fail'; correct one of them"):
        append_labels(path, "l", [{**other, "label": "fail"}])
