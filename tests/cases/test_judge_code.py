"""The code of a project's judges in two versions of a file: a judge, and what it names in its file."""

from __future__ import annotations

import pytest

from pytest_recall.cases.judge_code import altered_judges

BEFORE = """\
import pytest

LIMIT = 3


def _close(one, other):
    return abs(one - other) < LIMIT


class Rule:
    def holds(self, answer):
        return _close(len(answer), 5)


@pytest.fixture
def judge_length():
    return lambda answer, _: Rule().holds(answer)


@pytest.fixture(name="judge_polite")
def polite():
    return lambda answer, _: "please" in answer


@pytest.fixture
def agent():
    return lambda question: question
"""


def test_a_file_that_is_the_same_alters_none() -> None:
    assert altered_judges(BEFORE, BEFORE) == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "judges"),
    [
        ('"please" in answer', "True", {"polite"}),
        ("LIMIT = 3", "LIMIT = 30", {"length"}),
        ("< LIMIT", "<= LIMIT", {"length"}),
        ("len(answer), 5", "len(answer), 6", {"length"}),
        ("lambda question: question", "lambda question: question.upper()", set()),
        ("import pytest\n", "# another comment\nimport pytest\n", set()),
        ('name="judge_polite"', 'name="judge_kind"', {"polite", "kind"}),
        ("def agent():", "def judge_contains():", {"contains"}),
    ],
)
def test_a_judge_is_altered_with_what_it_names(old: str, new: str, judges: set[str]) -> None:
    assert old in BEFORE
    assert altered_judges(BEFORE, BEFORE.replace(old, new)) == judges


def test_a_file_that_is_new_or_gone_alters_all_of_its_judges() -> None:
    assert altered_judges("", BEFORE) == altered_judges(BEFORE, "") == {"length", "polite"}


def test_a_text_that_is_no_python_has_none() -> None:
    assert altered_judges(BEFORE, "def judge_length(:") == {"length", "polite"}
    assert altered_judges("", "\0") == frozenset()


def test_functions_that_name_each_other_come_to_an_end() -> None:
    text = "def a():\n    return b()\n\n\ndef b():\n    return a()\n\n\ndef judge_x():\n    return a\n"
    assert altered_judges(text, text.replace("return b()", "return b() or 1")) == {"x"}
