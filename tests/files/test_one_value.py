"""One value of a file is replaced, and every other byte is left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.files import one_value, strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.files.one_value import Plain, in_json
from tests.helpers.samples import unhurried

HEAD = "# Ours.\n- id: first\n  expected: one  # kept\n\n# About the second.\n- id: a\n  input: 'Say \"x\"'  # why\n"
TAIL = '  judges: [exact]  # and so on\n\n- {id: last, expected: "x", tags: [b, c]}\n'
STYLES = {
    "plain": "  expected: 30 days  # since May\n",
    "single": "  expected: '30 days'  # since May\n",
    "double": '  expected: "30 days"  # since May\n',
    "number": "  expected: 30  # since May\n",
    "several-lines-plain": "  expected: 30\n    days\n\n    after\n",
    "several-lines-quoted": '  expected: "30\n    days"  # since May\n',
    "literal": "  expected: |  # since May\n    30 days\n      or so\n\n    after\n\n",
    "folded": "  expected: >-\n    30\n    days\n  # a comment\n",
    "kept": "  expected: |+\n    30 days\n\n\n",
    "indented": "  expected: |2\n      30 days\n    after\n",
    "first-key": "  'expected':   30 days   \n",
}
VALUES: list[Plain] = [
    "14 days",
    "no: one",
    "yes",
    "it's",
    'a "b"',
    "two\nlines",
    "two\n\n  lines\n",
    "# x",
    "",
    14,
    1.5,
    "14",
]


def in_yaml(text: str, value: Plain) -> str:
    """Return the text with another value of the case `a`, which can be replaced."""
    found, problems = one_value.in_yaml(text, "c", "expected", {"a": value})
    assert problems == {}
    return found


def parts(text: str, value: str) -> tuple[str, str]:
    """Return what stands before and behind the lines of a value."""
    start = text.index(value)
    return text[:start], text[start + len(value) :]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_all_else_stays_as_it_is(style: str, value: Plain, ends: str) -> None:
    text = (HEAD + STYLES[style] + TAIL).replace("\n", ends)
    found = in_yaml(text, value)
    rows = strict_yaml.load(text, "cases.yaml")
    rows[1]["expected"] = value
    assert json.dumps(strict_yaml.load(found, "cases.yaml")) == json.dumps(rows)
    assert found.startswith((HEAD).replace("\n", ends))
    assert found.endswith(TAIL.replace("\n", ends))
    assert found.count("\n") == found.count(ends)
    assert found.count("# since May") == text.count("# since May")
    assert found.count("# a comment") == text.count("# a comment")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("expected: 30 days", "14 days", "expected: 14 days"),
        ("expected: '30 days'", "it's 14", "expected: 'it''s 14'"),
        ('expected: "30 days"', "14 days", 'expected: "14 days"'),
        ("expected: 30 days", "14", 'expected: "14"'),
        ("expected: 30", 14, "expected: 14"),
        ("expected: 30 days", "two\nlines", 'expected: "two\\nlines"'),
        ("expected: |\n    30\n    days\n", "two\nlines", "expected: |-\n    two\n    lines\n"),
        ("expected: |\n    30 days\n", "14 days", "expected: |-\n    14 days\n"),
        ("expected: >\n    30 days\n", " 14 days", 'expected: " 14 days"\n'),
    ],
)
def test_the_style_is_kept_where_the_value_can_have_it(before: str, value: Plain, after: str) -> None:
    assert in_yaml(f"- id: a\n  {before}\n", value) == f"- id: a\n  {after}\n"


def test_several_are_replaced_at_once() -> None:
    styles = list(STYLES.values())
    text = "".join(f"- id: a{number}\n{style}" for number, style in enumerate(styles))
    values: dict[str, Plain] = {f"a{number}": f"new {number}" for number in range(1, len(styles), 2)}
    found, problems = one_value.in_yaml(text, "c", "expected", values)
    assert problems == {}
    before, after = strict_yaml.load(text, "c"), strict_yaml.load(found, "c")
    assert [row["expected"] for row in after] == [values.get(row["id"], row["expected"]) for row in before]


def test_in_braces_a_comma_takes_quotes() -> None:
    text = "- {id: a, expected: x, tags: [b]}\n"
    assert in_yaml(text, "1, 2") == '- {id: a, expected: "1, 2", tags: [b]}\n'


def test_a_mark_of_the_byte_order_stays() -> None:
    assert in_yaml("\ufeff- {id: a, expected: x}\n", "y") == "\ufeff- {id: a, expected: y}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- id: a\n  expected: [x, y]\n", "is not a text or a number that stands there by itself"),
        ("- id: a\n  expected: {x: y}\n", "is not a text or a number that stands there by itself"),
        ("- id: a\n", "is not a text or a number that stands there by itself"),
        ("- {id: b, expected: &x hello}\n- {id: a, expected: *x}\n", "is not a text or a number that stands"),
        ("- {id: a, expected: &x hello}\n- {id: b, expected: *x}\n", "has an anchor or a tag"),
    ],
)
def test_what_cannot_be_replaced_alone_is_refused(text: str, said: str) -> None:
    found, problems = one_value.in_yaml(text + "- {id: c, expected: x}\n", "c", "expected", {"a": "y", "c": "z"})
    assert problems.keys() == {"a"}
    assert problems["a"].startswith(said)
    assert found.startswith(text)


def test_a_form_that_was_not_thought_of_is_refused() -> None:
    text = "- ? expected\n  : |\n    30 days\n  ? id\n  : a\n"
    _, problems = one_value.in_yaml(text, "c", "expected", {"a": "14 days"})
    assert problems == {"a": "stands in a form of YAML that cannot be changed alone"}


words = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\u2028\u2029\x85\ufffe\uffff"))
texts = st.lists(words, max_size=4).map("\n".join)


@unhurried
@given(st.sampled_from(sorted(STYLES)), texts | st.integers() | st.floats(-1e9, 1e9))
@example("literal", "a\n\tb")
@example("plain", "- a")
def test_any_value_in_any_style(style: str, value: Plain) -> None:
    found = in_yaml(HEAD + STYLES[style] + TAIL, value)
    assert strict_yaml.load(found, "c")[1]["expected"] == value
    before, _ = parts(HEAD + STYLES[style] + TAIL, STYLES[style])
    assert found.startswith(before)
    assert found.endswith(TAIL)


@pytest.mark.parametrize(
    ("line", "value", "after"),
    [
        (
            '{"id": "a", "expected": "x", "tags": ["expected"]}',
            "y",
            '{"id": "a", "expected": "y", "tags": ["expected"]}',
        ),
        (
            ' { "in" : {"expected": 1},\t"expected" : 30 , "z":[] } ',
            14,
            ' { "in" : {"expected": 1},\t"expected" : 14 , "z":[] } ',
        ),
        ('{"expected":"30\\u00a0days"}', "14 Ω", '{"expected":"14 \\u03a9"}'),
        ('{"expected":"30 days"}\r', "14 Ω", '{"expected":"14 Ω"}\r'),
    ],
)
def test_a_line_of_json_keeps_all_else(line: str, value: Plain, after: str) -> None:
    assert in_json(line, "expected", value) == after


def test_a_line_of_json_without_it() -> None:
    for line in ("{}", '{"id": "a"}', '{"id": {"expected": 1}}'):
        with pytest.raises(RecallError, match="is not there"):
            in_json(line, "expected", "x")
