"""YAML text: what is written is read back the same, by us and by others."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.strict_yaml import block

TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        "No",
        "6:30",
        "2026-01-31",
        "007",
        "1e3",
        "~",
        "- a",
        "a: b",
        "a #b",
        "|",
        "x:",
        "two\nlines",
        "\n",
        "a\n\nb\n",
        "=",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), VALUES, max_size=3))
def test_everybody_reads_back_what_is_written(value: Any) -> None:
    if not value:
        return
    text = block(value)
    assert strict_yaml.load(text, "x") == value
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7:00 AM.", "a: 7:00 AM.\n"),
        ("As of then: more", 'a: "As of then: more"\n'),
        ('use: "Condor"', "a: 'use: \"Condor\"'\n"),
        ("one\n- two", "a: |-\n  one\n  - two\n"),
        ([3, 4], "a:\n  - 3\n  - 4\n"),
        ([], "a: []\n"),
    ],
)
def test_the_form_is_that_of_the_published_files(value: Any, text: str) -> None:
    assert block({"a": value}) == text


def test_a_list_of_mappings_stands_at_the_margin() -> None:
    assert block([{"id": "a", "days": [1]}, {"id": "b"}]) == "- id: a\n  days:\n    - 1\n- id: b\n"
