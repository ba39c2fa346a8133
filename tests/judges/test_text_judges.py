"""`exact`, `contains`, `regex` and `token_f1`: every argument and every mistake."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.judges.built_in import contains, exact, regex, texts, token_f1
from pytest_recall.trials.trial import Verdict

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
        ("2.5", 2.5),
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
    with pytest.raises(ValueError, match="no words of `a-z0-9'` to compare; use another judge"):
        token_f1("one pound", expected)


# What may be expected


@pytest.mark.parametrize(
    ("expected", "found"), [("a", ["a"]), (["a", 1, 2.5], ["a", "1", "2.5"]), (("a",), ["a"]), (0, ["0"])]
)
def test_texts(expected: object, found: list[str]) -> None:
    assert texts(expected) == found


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
