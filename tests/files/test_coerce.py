"""Tests of files.coerce."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from pytest_recall.files.coerce import typed


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
