"""deepeval: what a golden says is in a case, or said to be left out."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.imports import ImportedSet, ImportOptions
from pytest_recall.extensions.importers import deepeval
from pytest_recall.files.errors import RecallError
from tests.extensions.importers.sources import documented, left

OPEN = {"input": "Open on Sunday?", "expected_output": "no"}
ASKED = {"role": "user", "content": "Open?"}
REPLY = {"role": "assistant", "content": "Which day?"}


def made(*goldens: Any) -> ImportedSet:
    """Return what becomes of goldens."""
    return deepeval.convert(documented(list(goldens), "sets/desk.json"), ImportOptions(judges=("exact",)))


def test_something_else_than_a_list_is_refused() -> None:
    with pytest.raises(RecallError, match=r"^x\.json:1: is not a list of goldens; save the dataset with `save_as`"):
        deepeval.convert(documented({}, "x.json"), ImportOptions())


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"context": "one text"}, ["one text"]),
        ({"context": ["a", "b"]}, ["a", "b"]),
        ({"context": {"a": 1}}, "`context` that is not a list of texts"),
        ({"expectations": {"must": "be polite"}}, "`expectations` that are not lists of texts"),
        ({"expectations": {"must": ["be polite"], "model": "m"}}, "the model or mode of `expectations`"),
        ({"persona": "a clerk", "user_description": "a clerk"}, "`persona`"),
        ({"odd": 1}, "`odd`"),
    ],
)
def test_what_of_a_golden_is_left_out_is_said(more: dict[str, Any], what: str | list[str]) -> None:
    found = made({**OPEN, **more})
    [case] = found.cases
    assert left(found) == ([what] if isinstance(what, str) else [])
    assert case.row.get("evidence", what) == what


def test_what_an_answer_must_do_is_a_rubric() -> None:
    found = made({**OPEN, "expectations": {"must": ["be polite"], "mustNot": ["guess"]}})
    assert found.cases[0].row["judges"] == [{"rubric": ["be polite", "It does not do this: guess"]}]


@pytest.mark.parametrize(
    ("golden", "what"),
    [
        ("Open?", "has neither `input` nor `scenario`"),
        ({"input": ["Open?"]}, "has no `input`"),
        ({"input": "What is in [DEEPEVAL:IMAGE:1]?"}, "asks about an image or a PDF"),
        ({"scenario": "A visit", "turns": [{"role": "user"}]}, "has turns without `content`"),
        ({"scenario": "A visit", "turns": []}, "has a scenario and no turns"),
    ],
)
def test_what_is_no_case_is_said(golden: Any, what: str) -> None:
    found = made(golden)
    assert (found.cases, [remark.what for remark in found.remarks if remark.whole]) == ([], [what])


def test_the_last_reply_of_a_talk_is_given_again_and_tools_are_left_out() -> None:
    turns = [ASKED, REPLY, {**ASKED, "content": "Sunday"}, {**REPLY, "content": "No.", "tools_called": [{"name": "t"}]}]
    found = made({"scenario": "A visit", "expected_outcome": "no", "turns": turns})
    assert found.cases[0].row["turns"] == [{"user": "Open?", "assistant": "Which day?"}, "Sunday"]
    assert left(found) == ["the last reply", "tools, passages and metadata of turns"]
