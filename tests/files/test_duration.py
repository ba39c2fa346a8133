"""Lengths of time as options take them."""

from __future__ import annotations

import pytest

from pytest_recall.files.duration import Unit, read_duration, show_duration


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("500ms", "s", 0.5),
        ("500ms", "ms", 500),
        ("90s", "ms", 90_000),
        ("1.5s", "ms", 1_500),
        ("2m", "s", 120),
        ("1h", "s", 3_600),
        ("30", "s", 30),
        ("30", "ms", 30),
        ("0", "s", 0),
    ],
)
def test_a_unit_is_taken_and_a_number_alone_is_in_that_of_the_option(text: str, unit: Unit, found: float) -> None:
    assert read_duration(text, unit) == found


@pytest.mark.parametrize(
    "text", ["", "soon", "s", "inf", "nan", "1e3", "-1", "+1", " 1", "1 s", "1d", "1S", "٣", "9" * 10]
)
def test_other_texts_are_none(text: str) -> None:
    assert read_duration(text, "s") is None


@pytest.mark.parametrize("milliseconds", [1, 999, 1_000, 1_500, 120_000])
def test_what_is_shown_is_read_back(milliseconds: int) -> None:
    assert read_duration(show_duration(milliseconds), "ms") == milliseconds
