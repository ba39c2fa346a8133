"""Labels files: what is read from them, and the sentence for each line that is not a label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.judges.calibration_file import append_labels, read_labels

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
