"""Expressions: those of JavaScript for Python's `re`."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.cases.importers.promptfoo_assertions import python_expression
from tests.helpers.samples import unhurried


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
