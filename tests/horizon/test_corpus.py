"""Tests of horizon.corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.corpus import Corpus, body_of, read_questions

GOOD = """\
- id: a-q001
  question: When?
  answer: 2026-01-18
  category: temporal-reasoning
  difficulty: easy
  relevant_days: [1, 2]
  requires_synthesis: false
"""


def _read(folder: Path, text: str) -> tuple[object, ...]:
    path = folder / "questions.yaml"
    path.write_text(text, encoding="utf-8")
    return read_questions(path, "questions.yaml")


def test_a_date_or_a_time_as_an_answer_stays_text(tmp_path: Path) -> None:
    (path := tmp_path / "questions.yaml").write_text(GOOD + GOOD.replace("q001", "q002").replace("2026-01-18", "6:30"))

    assert [one.answer for one in read_questions(path, "questions.yaml")] == ["2026-01-18", "6:30"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "questions.yaml:1: must be a list of questions"),
        (GOOD.replace("temporal-reasoning", "temporal"), "questions.yaml:4: category: 'temporal' is unknown"),
        (GOOD.replace("[1, 2]", "[0]"), "questions.yaml:6: relevant_days.0: "),
        (GOOD + GOOD, "questions.yaml:8: id: 'a-q001' is there twice; choose another"),
        (GOOD.replace("  question: When?\n", ""), "questions.yaml:1: question: "),
    ],
    ids=["no-list", "category", "day", "twice", "missing"],
)
def test_a_question_that_is_none_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecallError) as caught:
        _read(tmp_path, text)

    assert caught.value.messages[0].startswith(message)


def test_what_is_missing_is_said_with_the_command_that_writes_it(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, "arcs-60d.yaml")

    for read, command in ((lambda: corpus.persona, "create-persona"), (lambda: corpus.days, "generate")):
        with pytest.raises(RecallError, match=f"is not there; `recall bench {command}` writes"):
            read()
    (tmp_path / "arcs-30d.yaml").write_text("arcs: []")
    with pytest.raises(RecallError, match="of the story's files there are: arcs-30d"):
        _ = corpus.story
    corpus.memories.mkdir()
    with pytest.raises(RecallError, match="memories-60d: holds no day; files are called day-0001"):
        _ = corpus.days


def test_folders_go_by_the_name_of_the_story(tmp_path: Path) -> None:
    found = [
        Corpus(tmp_path, name).memories.name for name in ("arcs-180d.yaml", "arcs-1y.yml", "arcs.yaml", "other.yaml")
    ]

    assert found == ["memories-180d", "memories-1y", "memories", "memories"]
    assert Corpus(tmp_path, "arcs.yaml", memories="days").memories == tmp_path / "days"


def test_the_block_in_front_is_no_part_of_a_day() -> None:
    assert body_of("---\ntype: daily\n---\n\n# session: principal\n") == "# session: principal\n"
    assert body_of("# session: principal\n---\n") == "# session: principal\n---\n"
    assert body_of("---\nnever closed\n") == "---\nnever closed\n"


@pytest.mark.parametrize("epoch", ["0001-01-01", "9999-12-30"])
def test_a_story_begins_where_each_of_its_days_has_a_date(tmp_path: Path, epoch: str) -> None:
    (tmp_path / "arcs-60d.yaml").write_text(f"epoch: {epoch}\narcs: []\n", encoding="utf-8")
    with pytest.raises(RecallError, match=r"arcs-60d\.yaml:1: epoch: input should be"):
        _ = Corpus(tmp_path, "arcs-60d.yaml").story
