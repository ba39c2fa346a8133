"""Assertions: judges that decide as promptfoo does, to the letter, or a sentence why there are none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.extensions.importers.promptfoo_assertions import (
    DRAFT_7,
    Assertion,
    mapped,
    python_expression,
    separated,
)
from pytest_recall.judges import built_in
from tests.helpers.samples import unhurried

JUDGES: dict[str, Any] = {
    "contains": built_in.contains,
    "exact": built_in.exact,
    "regex": built_in.regex,
    "json_schema": built_in.json_schema,
}


def passes(kind: str, value: Any, answer: str) -> bool:
    """Whether an answer passes the judges of an assertion."""
    found = mapped(Assertion(kind.removeprefix("not-"), value, kind.startswith("not-")))
    assert found.judges, found.missing
    for judge in found.judges:
        assert isinstance(judge, dict)
        ((name, given),) = judge.items()
        if not JUDGES[name](answer, **(given if isinstance(given, dict) else {"expected": given})).passed:
            return False
    return True


@pytest.mark.parametrize(
    ("kind", "value", "judges"),
    [
        ("contains", "six", [{"contains": {"expected": "six", "ignore_case": False}}]),
        ("contains", "six tools", [{"regex": "six tools"}]),
        ("contains", 7, [{"contains": {"expected": "7", "ignore_case": False}}]),
        ("icontains", "Six", [{"contains": "Six"}]),
        ("icontains", "six tools.", [{"regex": {"expected": r"six tools\.", "ignore_case": True}}]),
        ("contains-all", "six, seven", [{"contains": {"expected": ["six", "seven"], "ignore_case": False}}]),
        ("icontains-all", ["six", "a b"], [{"contains": "six"}, {"regex": {"expected": "a b", "ignore_case": True}}]),
        ("icontains-any", ["six", "6"], [{"contains": {"expected": ["six", "6"], "any": True}}]),
        ("contains-any", ["six", "a b"], [{"regex": "six|a b"}]),
        ("not-contains", "sorry", [{"contains": {"absent": "sorry", "ignore_case": False}}]),
        ("not-icontains-any", ["no", "not"], [{"contains": {"absent": ["no", "not"]}}]),
        ("not-contains", "as an AI", [{"regex": r"\A(?![\s\S]*as an AI)"}]),
        ("not-contains-all", ["a", "b"], [{"regex": r"\A(?!(?=[\s\S]*a)(?=[\s\S]*b))"}]),
        ("starts-with", "Dear ", [{"regex": r"\ADear "}]),
        ("not-starts-with", "Dear", [{"regex": r"\A(?!Dear)"}]),
        ("equals", "six", [{"exact": "six"}]),
        ("equals", 6.0, [{"exact": "6"}]),
        ("not-equals", "six", [{"regex": r"\A(?!six\Z)"}]),
        ("equals", " ", [{"regex": r"\A \Z"}]),
        ("equals", {"a": [1]}, [{"json_schema": {"schema": {"const": {"a": [1]}}}}]),
        ("regex", r"^\d+$", [{"regex": r"(?a)^\d+\Z"}]),
        ("not-regex", r"\d", [{"regex": r"(?a)\A(?![\s\S]*(?:\d))"}]),
        ("is-json", None, [{"json_schema": {"schema": {}}}]),
        ("is-json", {"type": "array"}, [{"json_schema": {"schema": {"$schema": DRAFT_7, "type": "array"}}}]),
        ("llm-rubric", "is polite", [{"rubric": "is polite"}]),
        ("model-graded-closedqa", "is polite", [{"rubric": "is polite"}]),
        ("g-eval", ["is polite", "is short"], [{"rubric": ["is polite", "is short"]}]),
        ("factuality", "Six.", [{"rubric": "It says nothing that disagrees with this: Six."}]),
        ("similar", "six", [{"similarity": {"expected": "six", "threshold": 0.75}}]),
    ],
)
def test_what_becomes_of_each_kind(kind: str, value: Any, judges: list[Any]) -> None:
    found = mapped(Assertion(kind.removeprefix("not-"), value, kind.startswith("not-")))
    assert (list(found.judges), found.missing) == (judges, "")


def test_a_threshold_of_a_rubric_is_kept() -> None:
    found = mapped(Assertion("llm-rubric", "is polite", inverse=False, threshold=0.5))
    assert found.judges == ({"rubric": {"expected": "is polite", "threshold": 0.5}},)


@pytest.mark.parametrize("kind", ["llm-rubric", "similar", "equals", "is-json", "factuality"])
def test_a_difference_is_said(kind: str) -> None:
    assert mapped(Assertion(kind, {} if kind == "is-json" else "six", inverse=False)).differs


@pytest.mark.parametrize("kind", ["contains", "icontains-any", "starts-with", "regex"])
def test_what_is_the_same_says_so(kind: str) -> None:
    assert mapped(Assertion(kind, "six", inverse=False)).differs == ""


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(
            (kind, "x")
            for kind in ("javascript", "python", "cost", "latency", "contains-json", "rouge-n", "moderation")
        ),
        *(
            (kind, "x")
            for kind in ("select-best", "trajectory:tool-used", "similar:dot", "unheard-of", "not-llm-rubric")
        ),
        *((kind, "x") for kind in ("not-similar", "not-is-json", "not-factuality")),
        ("contains", ""),
        ("contains-any", []),
        ("contains", {"a": 1}),
        ("not-equals", {"a": 1}),
        ("equals", None),
        ("starts-with", ""),
        ("regex", ""),
        ("regex", "(?i)a"),
        ("regex", "a++"),
        ("regex", "["),
        ("llm-rubric", None),
        ("is-json", "file://x"),
    ],
)
def test_what_has_no_equal_says_what_to_do(kind: str, value: Any) -> None:
    found = mapped(Assertion(kind.removeprefix("not-"), value, kind.startswith("not-")))
    assert found.judges == ()
    assert len(found.missing) > 20


# What promptfoo decides, in one line each.
ORACLE: dict[str, Any] = {
    "contains": lambda value, answer: value in answer,
    "contains-all": lambda value, answer: all(one in answer for one in value),
    "contains-any": lambda value, answer: any(one in answer for one in value),
    "starts-with": lambda value, answer: answer.startswith(value),
    "equals": lambda value, answer: value == answer,
}
SAID = st.text("ab \n\t.$(é", max_size=8)
NEEDLE = st.text("ab \n.$(é", min_size=1, max_size=3)


@settings(unhurried)
@given(st.sampled_from([*ORACLE, *(f"not-{kind}" for kind in ORACLE)]), st.lists(NEEDLE, min_size=1, max_size=3), SAID)
def test_the_judges_decide_as_promptfoo_to_the_letter(kind: str, needles: list[str], answer: str) -> None:
    bare = kind.removeprefix("not-")
    value: Any = needles if bare.endswith(("-all", "-any")) else needles[0]
    if kind == "equals":
        return  # `exact` collapses white space, which is said.
    assert passes(kind, value, answer) == (ORACLE[bare](value, answer) != kind.startswith("not-"))


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("a, b", ["a", "b"]),
        ('"a, b", c', ["a, b", "c"]),
        ("a,,b,", ["a", "b"]),
        ('"a', None),
        # As `parseCommaSeparatedValues` of promptfoo 0.121.20 reads them.
        ("a\nb", ["a\nb"]),
        ("a, b\n,c", ["a", "b", "c"]),
        ('"a\nb", c', ["a\nb", "c"]),
        (" a\n", ["a"]),
        ('a "b", c', ['a "b"', "c"]),
        ('"a""b"', ['a"b']),
        (",,a", ["a"]),
        ('" a ",b', [" a ", "b"]),
        (r'"a\"b",c', ['a"b', "c"]),
        ('"a" b', None),
        (r"\n", [r"\n"]),
    ],
)
def test_lists_with_commas(value: str, texts: list[str] | None) -> None:
    assert separated(value) == texts


# Expressions: those of JavaScript for Python's `re`


@pytest.mark.parametrize(
    ("pattern", "python", "differs"),
    [
        ("six|seven", "six|seven", False),
        (r"^\d+$", r"(?a)^\d+\Z", False),
        (r"\$5$", r"\$5\Z", False),
        (r"(?<day>\w+) \k<day>", r"(?a)(?P<day>\w+) (?P=day)", False),
        (r"a\sb", r"a\sb", True),
        (r"\A\Z\y", "AZy", False),
        (r"[[&]", r"[\[\&]", False),
        (r"a{,2}", r"a\{,2}", False),
        (r"(?:a)(?=b)(?!c)(?<=d)(?<!e)", r"(?:a)(?=b)(?!c)(?<=d)(?<!e)", False),
    ],
)
def test_an_expression_is_carried_over(pattern: str, python: str, differs: bool) -> None:
    assert python_expression(pattern) == (python, differs)


@pytest.mark.parametrize(
    "pattern", ["(?i)a", "(?P<a>b)", "(?>a)", "a++", "[]", "[^]", r"\p{L}", r"\cA", "(", "\\", "[a"]
)
def test_an_expression_that_is_not_sure_to_be_the_same_is_not(pattern: str) -> None:
    assert python_expression(pattern) is None


@settings(unhurried)
@given(st.text(r"\ab[](){}^$.|?*+-&~1dwsk<>=!:,P", max_size=20))
def test_whatever_it_is_it_can_be_compiled_or_is_refused(pattern: str) -> None:
    found = python_expression(pattern)
    if found is not None:
        re.compile(found[0])


PAIRS = json.loads(Path(__file__).with_name("promptfoo_pairs.json").read_text())
"""An assertion and an answer each, with what `runAssertion` of promptfoo 0.121.20 said of them."""
STRICTER = {
    # Upper and lower case are compared by Unicode's rules.
    ("icontains", "Stra\xdfe 5"): True,
    ("not-icontains", "Stra\xdfe 5"): False,
    # A name that is written twice, and a number that no double holds, are not JSON.
    ("is-json", '{"a":1,"a":2}'): False,
    ("is-json", '{"a":1e400}'): False,
    ("is-json", "[1e999]"): False,
}
"""Where the judges differ, as docs/how-to/migrate.md says."""


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair['type']}-{number}" for number, pair in enumerate(PAIRS)])
def test_an_imported_assertion_decides_as_promptfoo_does(pair: dict[str, Any]) -> None:
    expected = STRICTER.get((pair["type"], pair["answer"]), pair["passed"])
    assert passes(pair["type"], pair["value"], pair["answer"]) is expected


def test_the_pairs_have_passing_and_failing_answers_of_each_kind() -> None:
    for kind in {pair["type"] for pair in PAIRS}:
        assert {pair["passed"] for pair in PAIRS if pair["type"] == kind} == {True, False}
