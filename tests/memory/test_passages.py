"""What others recall, read strictly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryFault
from pytest_recall.memory.client import passages_of
from pytest_recall.trials.trial import Passage


def test_texts_mappings_and_objects_are_passages() -> None:
    given = ["a", {"text": "b", "source": 3, "score": 1}, SimpleNamespace(text="c"), Passage(text="d", score=0.5)]
    assert passages_of(iter(given)) == [
        Passage(text="a"),
        Passage(text="b", source="3", score=1.0),
        Passage(text="c"),
        Passage(text="d", score=0.5),
    ]


@pytest.mark.parametrize("score", [True, "0.5", float("nan"), float("inf"), 10**400, None])
def test_what_is_no_score_is_none(score: Any) -> None:
    assert passages_of([{"text": "a", "score": score}]) == [Passage(text="a")]


def test_a_lone_surrogate_is_a_question_mark() -> None:
    assert passages_of(["a\ud800b"]) == [Passage(text="a?b")]


@pytest.mark.parametrize("given", [None, "text", b"text", {"text": "a"}, 3, [None], [b"a"], [{"content": "a"}]])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(MemoryFault, match=r"^recalled "):
        passages_of(given)
