"""Question file: what is written leaves every other byte as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.corpus import QuestionFile
from tests.horizon.tenday import question

HAND = """\
# Ours.
- id: workshop-q001
  question: How high?   # the refund
  answer: $37
  category: factual-recall
  difficulty: easy
  relevant_days: [3]
  irrelevant_after: 9
  note: "kept"

# The second.
- id: workshop-q002
  question: When?
  answer: 2026-03-19
  category: temporal-reasoning
  difficulty: easy
  relevant_days:
    - 4
  requires_synthesis: false
# The end.
"""


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "qa" / "questions.yaml"
    path.parent.mkdir()
    path.write_text(HAND)
    return path


def test_rows_are_added_at_the_end(path: Path) -> None:
    file = QuestionFile(path).append([question(3, answer="No")])
    assert path.read_text().startswith(HAND + "- id: workshop-q003\n  question:")
    assert [one.answer for one in file.questions] == ["$37", "2026-03-19", "No"]


def test_a_file_that_is_not_there_begins(tmp_path: Path) -> None:
    file = QuestionFile(tmp_path / "new" / "questions.yaml")
    assert file.rows == ()
    assert [one.id for one in file.append([question(1)]).questions] == ["workshop-q001"]


def test_a_change_leaves_the_other_rows_and_what_stands_between_them(path: Path) -> None:
    file = QuestionFile(path).change({"workshop-q001": {"answer": "$38: all"}})
    text = path.read_text()
    assert text.startswith('# Ours.\n- id: workshop-q001\n  question: How high?\n  answer: "$38: all"\n')
    assert text.endswith(HAND[HAND.index("\n# The second.") :])
    assert (file.rows[0].raw["note"], file.rows[0].raw["irrelevant_after"]) == ("kept", 9)


def test_a_change_of_the_last_row(path: Path) -> None:
    file = QuestionFile(path).change({"workshop-q002": {"irrelevant_after": 8}})
    assert path.read_text().startswith(HAND[: HAND.index("- id: workshop-q002")])
    assert path.read_text().endswith("  irrelevant_after: 8\n# The end.\n")
    assert file.questions[1].irrelevant_after == 8
    assert file.questions[1].answer == "2026-03-19"


@pytest.mark.parametrize("text", ["[{id: a, question: q}]\n", "-\n  id: a\n  question: q\n"])
def test_another_form_is_written_anew_with_all_it_has(tmp_path: Path, text: str) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(text)
    file = QuestionFile(path).append([question(2)])
    assert [row.raw["id"] for row in file.rows] == ["a", "workshop-q002"]
    path.write_text(text)
    changed = QuestionFile(path).change({"a": {"answer": "b"}})
    assert changed.rows[0].raw == {"id": "a", "question": "q", "answer": "b"}


def test_a_row_that_is_none_is_named_with_its_line(path: Path) -> None:
    path.write_text(HAND.replace("difficulty: easy\n  relevant_days: [3]", "difficulty: mild\n  relevant_days: []"))
    file = QuestionFile(path)
    assert [row.question is None for row in file.rows] == [True, False]
    with pytest.raises(RecallError) as caught:
        file.refuse_broken()
    assert [message.removeprefix(f"{path}:") for message in caught.value.messages] == [
        "6: difficulty: 'mild' is unknown; known: easy, hard, medium",
        "7: relevant_days: is empty; give at least one",
    ]


@pytest.mark.parametrize("written", ["a: 1\n", "text\n"])
def test_what_is_no_list_is_refused(tmp_path: Path, written: str) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(written)
    with pytest.raises(RecallError, match="must be a list of questions"):
        QuestionFile(path)


def test_a_file_with_nothing_but_a_comment_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text("# to come\n")
    more: dict[str, Any] = question(1)
    assert QuestionFile(path).rows == ()
    assert len(QuestionFile(path).append([more]).rows) == 1
