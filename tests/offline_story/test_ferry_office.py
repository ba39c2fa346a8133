"""The shipped persona: what the script writes, and nothing wrong in it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import DATASET_FILES, DEFAULT_PATTERNS, find_case_files
from pytest_recall.horizon.check import check, lint_corpus
from pytest_recall.horizon.corpus import FERRY_OFFICE, Corpus, shipped
from pytest_recall.horizon.question import CATEGORIES
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = loaded(ROOT / "scripts" / "ferry-office.py")


def checked(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["ferry-office.py", "--check"])
    code: int = SCRIPT.main()
    return code


def test_the_shipped_persona_is_what_the_script_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(monkeypatch) == 0, capsys.readouterr().err
    ours = shipped(FERRY_OFFICE)
    assert ours is not None
    copy = tmp_path / FERRY_OFFICE
    shutil.copytree(ours, copy)
    (copy / "memories-60d" / "day-0007.md").write_text("Another day.", encoding="utf-8")
    monkeypatch.setattr(SCRIPT, "shipped", lambda named: copy)
    assert checked(monkeypatch) == 1
    assert "day-0007.md: is not what this script writes" in capsys.readouterr().err


def test_nothing_is_wrong_in_it() -> None:
    ours = shipped(FERRY_OFFICE)
    assert ours is not None
    corpus = Corpus(ours, "arcs-60d.yaml")
    assert (corpus.persona.id, len(corpus.days)) == (FERRY_OFFICE, 60)
    assert check(corpus) == []
    assert lint_corpus(corpus)[1] == []
    assert {one.category for one in corpus.questions} == set(CATEGORIES)
    assert {one.difficulty for one in corpus.questions} == {"easy", "medium", "hard"}
    # Also of a session that is closed before the last day, and of numbers that are changed.
    closed = corpus.story.bounds(corpus.persona, "board-chair")[1]
    assert closed is not None
    assert closed < 60
    assert any("board-chair" in one.forbidden_sessions for one in corpus.questions)
    assert any(one.irrelevant_after for one in corpus.questions)


def test_another_name_is_not_shipped() -> None:
    assert shipped("ferry-offices") is None


def test_nothing_of_the_committed_persona_is_taken_for_cases() -> None:
    patterns = (*DEFAULT_PATTERNS, "eval/cases.yaml", *DATASET_FILES)
    assert [one for one in find_case_files(ROOT / "eval", patterns) if "personas" in one.parts] == []
