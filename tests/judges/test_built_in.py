"""`exact`, `contains`, `regex` and `token_f1`: every argument and every mistake."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from pytest_recall.judges.built_in import (
    contains,
    exact,
    json_schema,
    numeric,
    on_text,
    regex,
    texts,
    token_f1,
)
from pytest_recall.trials.trial import Answer, Verdict
from tests.helpers.samples import case

PASS = Verdict(passed=True, score=1.0)


def fail(reason: str) -> Verdict:
    """Return the verdict of a judge that says no."""
    return Verdict(passed=False, score=0.0, reason=reason)


# exact


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("One pound.", "One pound."),
        ("  One\n\tpound. ", "One pound."),
        ("One pound.", " One   pound. "),
        ("b", ["a", "b"]),
        ("42", 42),
        ("7", [1, "7"]),
        ("", ""),
    ],
)
def test_exact_passes(answer: str, expected: object) -> None:
    assert exact(answer, expected) == PASS


def test_exact_fails_and_says_both() -> None:
    assert exact("Two pounds.", "One pound.") == fail("expected “One pound.”, got “Two pounds.”")
    assert exact("c", ["a", "b"]) == fail("expected “a” or “b”, got “c”")


def test_exact_minds_case_unless_told() -> None:
    assert exact("STRASSE", "straße").passed is False
    assert exact("STRASSE", "straße", ignore_case=True) == PASS


def test_exact_is_not_contains() -> None:
    assert exact("One pound a day", "One pound").passed is False


# contains


@pytest.mark.parametrize(
    ("answer", "expected", "arguments"),
    [
        ("It costs one pound a day.", "one pound", {}),
        ("It costs ONE\n pound a day.", "one pound", {}),
        ("It costs one pound a day.", ["day", "pound"], {}),
        ("It costs 3 pounds.", 3, {}),
        ("It costs one pound.", ["euro", "pound"], {"any": True}),
        ("It costs one pound.", "pound", {"absent": "euro"}),
        ("It costs one pound.", None, {"absent": ["euro", "dollar"]}),
        ("One Pound", "One Pound", {"ignore_case": False}),
    ],
)
def test_contains_passes(answer: str, expected: object, arguments: dict[str, Any]) -> None:
    assert contains(answer, expected, **arguments) == PASS


@pytest.mark.parametrize(
    ("expected", "arguments", "reason"),
    [
        ("euro", {}, "no “euro” in “It costs one pound.”"),
        (["euro", "pound", "dollar"], {}, "no “euro”, no “dollar” in “It costs one pound.”"),
        (["euro", "dollar"], {"any": True}, "no “euro” or “dollar” in “It costs one pound.”"),
        ("Pound", {"ignore_case": False}, "no “Pound” in “It costs one pound.”"),
        ("pound", {"absent": "COSTS"}, "“COSTS” must not occur in “It costs one pound.”"),
        ("pound", {"absent": ["x", "one"]}, "“one” must not occur in “It costs one pound.”"),
        (["pound", "x"], {"any": True, "absent": "one"}, "“one” must not occur in “It costs one pound.”"),
        ("euro", {"absent": "one"}, "no “euro”; “one” must not occur in “It costs one pound.”"),
        (None, {"absent": "it"}, "“it” must not occur in “It costs one pound.”"),
    ],
)
def test_contains_fails_and_says_why(expected: object, arguments: dict[str, Any], reason: str) -> None:
    assert contains("It costs one pound.", expected, **arguments) == fail(reason)


@pytest.mark.parametrize("arguments", [{}, {"absent": []}])
def test_contains_needs_something_to_look_for(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing to look for; give `expected` or `absent`"):
        contains("x", **arguments)


@pytest.mark.parametrize("empty", ["", "  ", ["pound", ""], ["\n"]])
def test_contains_refuses_a_text_that_is_in_every_answer(empty: object) -> None:
    with pytest.raises(ValueError, match=r"^an empty text is in every answer; remove it$"):
        contains("One pound.", empty)


@pytest.mark.parametrize(
    "empty",
    [
        "  ",
        ["euro", ""],
        "",
    ],
)
def test_contains_refuses_to_forbid_what_is_in_every_answer(empty: Any) -> None:
    with pytest.raises(ValueError, match=r"^an empty text is in every answer; remove it$"):
        contains("One pound.", "pound", absent=empty)


# regex


@pytest.mark.parametrize(
    ("answer", "pattern", "arguments"),
    [
        ("It costs £3 a day", r"£\d", {}),
        ("It costs ONE pound", "one", {"ignore_case": True}),
        (" £3 \n", r"£\d", {"full": True}),
        ("a\nb", "^b$|a\nb", {"full": True}),
    ],
)
def test_regex_passes(answer: str, pattern: str, arguments: dict[str, Any]) -> None:
    assert regex(answer, pattern, **arguments) == PASS


@pytest.mark.parametrize(
    ("pattern", "arguments"), [(r"\d", {}), ("ONE", {}), ("one", {"full": True}), ("ONE", {"full": True})]
)
def test_regex_fails_and_says_why(pattern: str, arguments: dict[str, Any]) -> None:
    assert regex("one pound", pattern, **arguments) == fail(f"/{pattern}/ does not fit “one pound”")


def test_regex_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression: missing \)"):
        regex("x", "(")


@pytest.mark.parametrize("bad", [5, ["a", "b"], None, b"x"])
def test_regex_that_is_no_text(bad: Any) -> None:
    with pytest.raises(ValueError) as caught:
        regex("x", bad)
    assert str(caught.value) == f"`expected` must be a regular expression as text, not {bad!r}"


# token_f1


def test_token_f1_scores_and_leaves_the_verdict_to_the_threshold() -> None:
    assert token_f1("no no no", "no") == Verdict(passed=None, score=0.5, reason="F1 0.50 with “no”, got “no no no”")


def test_token_f1_takes_the_best_of_a_list() -> None:
    verdict = token_f1("one pound", ["two euros", "one pound a day", "a pound of it"])
    assert verdict.score == pytest.approx(2 / 3)
    assert verdict.reason == "F1 0.67 with “one pound a day”, got “one pound”"


def test_token_f1_of_nothing_shared() -> None:
    assert token_f1("", "one pound").score == 0.0


@pytest.mark.parametrize("expected", ["¿?", ["one pound", "…"], ""])
def test_token_f1_needs_words(expected: object) -> None:
    with pytest.raises(ValueError, match="the reference has no word to compare; use another judge"):
        token_f1("one pound", expected)


# What may be expected


@pytest.mark.parametrize(("expected", "found"), [("a", ["a"]), (["a", 1], ["a", "1"]), (("a",), ["a"]), (0, ["0"])])
def test_texts(expected: object, found: list[str]) -> None:
    assert texts(expected) == found


def test_how_a_number_was_written_is_not_known() -> None:
    with pytest.raises(ValueError, match=r"^compares texts, and `expected` is the number 3.1, which may "):
        exact("3.10", 3.10)


@pytest.mark.parametrize("bad", [None, True, {"a": 1}, ["a", None], [["a"]], ["a", False]])
@pytest.mark.parametrize("judge", [texts, lambda bad: exact("x", bad), lambda bad: token_f1("x", bad)])
def test_what_is_no_text(judge: Any, bad: object) -> None:
    with pytest.raises(ValueError, match="`expected` must be text or a list of texts, not "):
        judge(bad)


@pytest.mark.parametrize(
    "judge", [texts, lambda bad: exact("x", bad), lambda bad: contains("x", bad), lambda bad: token_f1("x", bad)]
)
def test_an_empty_list_expects_nothing(judge: Any) -> None:
    with pytest.raises(ValueError, match="empty list; give at least one text"):
        judge([])


def test_reasons_are_one_bounded_line() -> None:
    reason = exact("a\n" * 1000, "b").reason
    assert reason.startswith("expected “b”, got “a a a")
    assert len(reason) < 160
    assert "\n" not in reason


# `numeric`: what it takes for a number, and how near is near enough


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
        ("9007199254740993", 9007199254740992, {}, False),
        ("Account 12345678901234567891", "12345678901234567890", {}, False),
        ("Net result: -$5.00", -5, {}, True),
        ("Net result: -$5.00", 5, {}, False),
        ("Das kostet 12,5 Euro.", 5, {}, False),
        ("Das kostet 12,5 Euro.", 12.5, {"decimal": ","}, True),
        ("Das kostet 12,5 Euro.", "12,5", {"decimal": ","}, True),
        ("12,5 or 7", 7, {"pick": "first"}, False),
        ("12,5 or 7", 7, {"pick": "last"}, True),
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
    assert numeric("2 or 4,000.5", 3).reason == "expected 3, got numbers 2, 4,000.5 in “2 or 4,000.5”"
    assert numeric("2", 3).reason == "expected 3, got the number 2 in “2”"
    assert numeric("2, 3", 3, pick="first").reason == "expected 3, got the first number 2 in “2, 3”"
    assert numeric("none", 3).reason == "expected 3, got no number in “none”"
    many = numeric(" ".join(map(str, range(10, 20))), 3).reason
    assert "got numbers 10, 11, 12, 13, 14, 15, 16, 17 in" in many


@pytest.mark.parametrize(
    "bad",
    [None, "three", True, [3], {"a": 3}, "", "12,5", "3 4", "$3", "nan", "-Infinity", float("nan"), float("inf")],
)
def test_what_is_no_number(bad: Any) -> None:
    with pytest.raises(ValueError, match="`expected` must be a number, not "):
        numeric("3", bad)


@pytest.mark.parametrize(("written", "number"), [("$12.50", "12.50"), ("12,5", "12.5"), ("about 3", "3")])
def test_numeric_says_what_to_write(written: str, number: str) -> None:
    with pytest.raises(ValueError, match=rf"; write {re.escape(number)}$"):
        numeric("3", written)


def test_numeric_shows_what_is_written_alike_and_is_another_number() -> None:
    reason = numeric("1.234", 1.234, decimal=",").reason
    assert reason == "expected 1.234, got the number 1.234, which is 1234 here in “1.234”"


@pytest.mark.parametrize("answer", ["5½", "2^10", "10²"])
def test_numeric_proposes_no_notation_that_does_not_read_it_either(answer: str) -> None:
    reason = numeric(answer, 3).reason
    assert f"“{answer}”, which is no number that can be read" in reason


def test_regex_shows_what_looks_like_what_it_fits() -> None:
    assert regex("30\u00a0days", "30 days").reason.endswith("; they look alike, but the answer has U+00A0")
    assert regex("Bogota\u0301", "Bogotá", full=True).reason.endswith("the answer has U+0301 and the text has U+00E1")
    assert "alike" not in regex("31 days", "30 days").reason


def test_numeric_says_what_it_cannot_read() -> None:
    assert numeric("2 or 12,5", 5).reason == (
        'expected 5, got the number 2 and “12,5”, which is no number where `.` is the decimal mark (`decimal: ","`'
        " reads it) in “2 or 12,5”"
    )
    assert numeric("1.2.3", 3).reason == (
        "expected 3, got no number and “1.2.3”, which is no number that can be read in “1.2.3”"
    )


def test_pick_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="pick: 'best' is unknown; known: any, first, last"):
        numeric("3", 3, pick="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["tolerance", "relative"])
def test_a_negative_tolerance_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=rf"^`?{argument}`?\b.*-1"):
        numeric("3", 4, **{argument: -1})  # type: ignore[arg-type]


# From a pure function over texts to a judge over an answer and a case


ANSWER = Answer(text="One pound a day.")


def test_the_case_says_what_is_expected() -> None:
    assert on_text(exact)(ANSWER, case()) == Verdict(passed=True, score=1.0)


def test_an_argument_takes_its_place() -> None:
    assert on_text(exact)(ANSWER, case(), expected="Two pounds.").passed is False


def test_arguments_are_passed_on() -> None:
    judge = on_text(exact)
    assert judge(ANSWER, case(expected="one pound a day.")).passed is False
    assert judge(ANSWER, case(expected="one pound a day."), ignore_case=True).passed is True


@pytest.mark.parametrize("check", [exact, regex, numeric, token_f1])
def test_something_has_to_be_expected(check: object) -> None:
    with pytest.raises(ValueError, match="needs `expected`; give it in the case or as an argument"):
        on_text(check)(ANSWER, case(expected=None))  # type: ignore[arg-type]


def test_unless_the_judge_does_without() -> None:
    silent = case(expected=None)
    assert on_text(contains)(ANSWER, silent, absent="euro").passed is True
    assert on_text(json_schema)(Answer(text="3"), silent, schema={"type": "integer"}).passed is True


def test_the_thinking_of_an_answer_is_judged_unless_it_is_to_be_skipped() -> None:
    thought = Answer(text="<think>Two? No.</think>\nOne")
    judge = on_text(exact)
    assert judge(thought, case(expected="One")).passed is False
    assert judge(thought, case(expected="One"), skip_thinking=True).passed is True


def test_arguments_stay_visible() -> None:
    parameters = inspect.signature(on_text(contains)).parameters
    assert list(parameters) == ["answer", "case", "expected", "any", "ignore_case", "absent", "skip_thinking"]
    assert [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY] == list(parameters)[2:]
    assert parameters["ignore_case"].default is True


@pytest.mark.parametrize("check", [exact, contains, regex, json_schema, numeric, token_f1])
def test_the_documentation_is_kept(check: object) -> None:
    judge = on_text(check)  # type: ignore[arg-type]
    assert judge.__doc__ == check.__doc__
    assert judge.__doc__
