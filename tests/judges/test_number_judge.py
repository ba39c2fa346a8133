"""`numeric`: what it takes for a number, and how near is near enough."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.judges.built_in import MAX_DIGITS, numbers, numeric


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3", [3.0]),
        ("It costs £1,250.50 in all.", [1250.5]),
        ("1,234,567", [1234567.0]),
        ("1,2 and 3", [1.0, 2.0, 3.0]),
        ("-4 and −5 and - 6", [-4.0, -5.0, 6.0]),
        ("3-4", [3.0, 4.0]),
        ("covid-19", [19.0]),
        (".5 or -.25", [0.5, -0.25]),
        ("1e3, 2.5E-1", [1000.0, 0.25]),
        ("The end is 7.", [7.0]),
        ("version 1.2.3", [1.2, 3.0]),
        ("2026-01-31", [2026.0, 1.0, 31.0]),
        ("20% of 10kg, the 3rd", [20.0, 10.0, 3.0]),
        ("A4 paper", [4.0]),
        ("(12)", [12.0]),
        ("none", []),
        ("", []),
    ],
)
def test_numbers(text: str, found: list[float]) -> None:
    assert numbers(text) == found


def test_a_number_of_thousands_of_digits_is_passed_over() -> None:
    assert numbers("9" * (MAX_DIGITS + 1) + " 7") == [7.0]
    assert numbers("9" * MAX_DIGITS) == [float("9" * MAX_DIGITS)]


@pytest.mark.parametrize(
    ("answer", "expected", "arguments", "passed"),
    [
        ("It is 3.", 3, {}, True),
        ("It is 3.0", "3", {}, True),
        ("It is 1,250", 1250.0, {}, True),
        ("It is 3.01", 3, {}, False),
        ("2 or 3", 3, {}, True),
        ("It is -3", 3, {}, False),
        ("It is 3.2", 3, {"tolerance": 0.25}, True),
        ("It is 3.3", 3, {"tolerance": 0.25}, False),
        ("It is 2.8", 3, {"tolerance": 0.25}, True),
        ("It is 104", 100, {"relative": 0.05}, True),
        ("It is 106", 100, {"relative": 0.05}, False),
        ("It is 94", 100, {"relative": 0.05}, False),
        ("It is -104", -100, {"relative": 0.05}, True),
        ("0", 0, {"relative": 0.5}, True),
        ("2 then 3", 3, {"pick": "any"}, True),
        ("2 then 3", 3, {"pick": "first"}, False),
        ("2 then 3", 2, {"pick": "first"}, True),
        ("2 then 3", 3, {"pick": "last"}, True),
        ("2 then 3", 2, {"pick": "last"}, False),
        ("none", 3, {"pick": "first"}, False),
        ("none", 3, {"pick": "last"}, False),
    ],
)
def test_numeric(answer: str, expected: float | str, arguments: dict[str, Any], passed: bool) -> None:
    verdict = numeric(answer, expected, **arguments)
    assert (verdict.passed, verdict.score) == (passed, float(passed))


@pytest.mark.parametrize(
    ("answer", "expected", "passed"),
    [("110", 100, True), ("110.5", 100, False), ("90", 100, True), ("89.5", 100, False), ("-110", -100, True)],
)
def test_relative_is_a_share_of_what_is_expected(answer: str, expected: float, passed: bool) -> None:
    assert numeric(answer, expected, relative=0.1).passed is passed


@pytest.mark.parametrize(
    ("answer", "expected", "arguments", "passed"),
    [
        ("1.0", 1.1, {"tolerance": 0.1}, True),
        ("1.2", 1.1, {"tolerance": 0.1}, True),
        ("0.99", 1.1, {"tolerance": 0.1}, False),
        ("1.21", 1.1, {"tolerance": 0.1}, False),
        ("1.21", 1.1, {"relative": 0.1}, True),
        ("1.22", 1.1, {"relative": 0.1}, False),
        ("0.3", 0.1 + 0.2, {}, False),
    ],
)
def test_limits_are_included_in_spite_of_binary_rounding(
    answer: str, expected: float, arguments: dict[str, float], passed: bool
) -> None:
    assert numeric(answer, expected, **arguments).passed is passed  # type: ignore[arg-type]


def test_the_wider_of_two_tolerances_counts() -> None:
    assert numeric("104", 100, tolerance=1, relative=0.05).passed is True
    assert numeric("104", 100, tolerance=5, relative=0.01).passed is True
    assert numeric("104", 100, tolerance=1, relative=0.01).passed is False


def test_numeric_says_what_it_got() -> None:
    assert numeric("2 or 4,000.5", 3).reason == "expected 3, got numbers 2, 4000.5 in “2 or 4,000.5”"
    assert numeric("none", 3).reason == "expected 3, got no number in “none”"
    many = numeric(" ".join(map(str, range(10, 20))), 3).reason
    assert "got numbers 10, 11, 12, 13, 14, 15, 16, 17 in" in many


@pytest.mark.parametrize("bad", [None, "three", True, [3], {"a": 3}, ""])
def test_what_is_no_number(bad: Any) -> None:
    with pytest.raises(ValueError, match="`expected` must be a number, not "):
        numeric("3", bad)


@pytest.mark.parametrize("bad", ["nan", "inf", "-Infinity", float("nan"), float("inf")])
def test_what_no_answer_can_equal(bad: str | float) -> None:
    with pytest.raises(ValueError) as caught:
        numeric("3", bad)
    assert str(caught.value) == f"`expected` must be a finite number, not {bad!r}"


def test_pick_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="pick: 'best' is unknown; known: any, first, last"):
        numeric("3", 3, pick="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["tolerance", "relative"])
def test_a_negative_tolerance_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=rf"^`?{argument}`?\b.*-1"):
        numeric("3", 4, **{argument: -1})  # type: ignore[arg-type]
