"""Tests of files.coerce."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from pytest_recall.files.coerce import number_of, typed, well_formed
from pytest_recall.trials.trial import Passage, passage_of


@pytest.mark.parametrize(
    "given", [True, None, "1", 10**400, float("inf"), float("nan")], ids=lambda given: str(given)[:9]
)
def test_what_is_no_finite_number_is_none(given: Any) -> None:
    assert number_of(given) is None


def test_a_mapping_and_an_object_are_the_same_passage() -> None:
    fields = {"text": "a \ud800", "source": 7, "score": 0.5}

    assert passage_of(fields) == passage_of(SimpleNamespace(**fields)) == Passage(text="a ?", source="7", score=0.5)


def test_what_has_no_text_is_no_passage() -> None:
    assert passage_of({"text": 3}) is None


def test_text_without_lone_surrogates_stays_as_it_is() -> None:
    assert well_formed("naïve 😀") == "naïve 😀"


class Listed(NamedTuple):
    names: list[str]
    told: tuple[str, ...] = ()
    scores: dict[str, float] = {}  # noqa: RUF012


class Unread(NamedTuple):
    counts: list[int]


def test_lists_of_texts_are_taken_and_checked() -> None:
    assert typed(Listed, {"names": ["a"], "told": ["b"], "scores": {"c": 1}}) == {"names": ["a"], "told": ("b",)}
    with pytest.raises(TypeError, match=r"^names: \[1\] is not a list\[str\]$"):
        typed(Listed, {"names": [1]})


def test_a_field_of_plain_values_is_never_left_out_in_silence() -> None:
    with pytest.raises(NotImplementedError, match=r"^Unread\.counts: list\[int\] is not read; add it to `_KINDS`$"):
        typed(Unread, {"counts": [1]})
