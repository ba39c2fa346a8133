"""Tests of core.given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.core.given import number_of, passage_of, well_formed
from pytest_recall.core.trial import Passage


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
