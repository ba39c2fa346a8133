"""Strict YAML: scalars of YAML 1.2, and a sentence with a line for every mistake."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_yaml import MAX_ALIASED, MAX_DEPTH, conflict_line, load
from tests.helpers.samples import unhurried
from tests.schedule.state_samples import PLACE, agreed, problem

NAME = "cases.yaml"


def is_plain(value: Any) -> bool:
    """Whether JSON can hold `value` as it is."""
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)


# Scalars


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31",
        "2026-01-31T10:00:00Z",
        "No",
        "yes",
        "off",
        "y",
        "6:30",
        "190:20:30",
        "007",
        "00",
        "-01",
        "0o17",
        "0x1F",
        "0b11",
        "1_000",
        ".inf",
        "-.Inf",
        ".NaN",
        "1e400",
        "9007199254740993.0",
        "3.14159265358979323846",
        "+",
        ".",
        "1.2.3",
        "tRUE",
        "nULL",
        "<<",
        "=",
        "²",
        "٣",
    ],
)
def test_stays_text(text: str) -> None:
    assert load(text, NAME) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("-12", -12),
        ("9" * 300, int("9" * 300)),
        ("1.0", 1.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
    ],
)
def test_other_scalars(text: str, value: object) -> None:
    found = load(text, NAME)
    assert (type(found), found) == (type(value), value)


def test_number_too_long_to_count_with_stays_text() -> None:
    assert load("9" * 5000, NAME) == "9" * 5000


@pytest.mark.parametrize("text", ['"1"', "'true'", "|-\n  1", ">-\n  true"])
def test_quotes_and_blocks_are_text(text: str) -> None:
    assert load(f"a: {text}", NAME) in ({"a": "1"}, {"a": "true"})


def test_keys_stay_text() -> None:
    assert load("{1: a, null: b, true: c, 1.0: d, 2026-01-31: e, ~: f}", NAME) == {
        "1": "a",
        "null": "b",
        "true": "c",
        "1.0": "d",
        "2026-01-31": "e",
        "~": "f",
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\n\n"])
def test_nothing_is_none(text: str) -> None:
    assert load(text, NAME) is None


@pytest.mark.parametrize("text", ["a: 1\r\nb: 2\r\n", "\ufeffa: 1\nb: 2\n", "a:\t1\nb: 2\t\n"])
def test_windows_bom_and_tabs_between_tokens_are_fine(text: str) -> None:
    assert load(text, NAME) == {"a": 1, "b": 2}


def test_beyond_the_basic_plane() -> None:
    assert load("a: 😀\nb: “ß”\n", NAME) == {"a": "😀", "b": "“ß”"}


# Aliases


def test_alias_repeats_its_value() -> None:
    assert load("a: &x [1, {b: 2}]\nc: *x\nd: *x\n", NAME) == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": [1, {"b": 2}],
    }


def test_anchor_may_be_set_again() -> None:
    assert load("[&x 1, *x, &x 2, *x]", NAME) == [1, 1, 2, 2]


def test_aliases_may_add_values_up_to_the_limit() -> None:
    text = "- &x [" + "1, " * 99 + "]\n" + "- *x\n" * (MAX_ALIASED // 100)
    assert len(load(text, NAME)) == 1 + MAX_ALIASED // 100


def test_aliases_beyond_the_limit() -> None:
    text = "- &x [" + "1, " * 99 + "]\n" + "- *x\n" * (MAX_ALIASED // 100 + 1)
    assert problem(lambda: load(text, NAME)) == f"{NAME}:102: aliases add more than 10,000 values; write them out"


def test_alias_bomb() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert problem(lambda: load("\n".join(levels), NAME)).startswith(f"{NAME}:4: aliases add more than")


# Mistakes


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "`a` is written twice"),
        ("a: 1\n'a': 2\n", 2, "`a` is written twice"),
        ("- {b: 1, b: 2}\n", 1, "`b` is written twice"),
        ("a:\n  b: !!python/object:os.system x\n", 2, "`tag:yaml.org,2002:python/object:os.system` is not allowed"),
        ("a: !!python/object/apply:os.system [x]\n", 1, "is not allowed"),
        ("a: !!str 1\n", 1, "`tag:yaml.org,2002:str` is not allowed"),
        ("- !own {a: 1}\n", 1, "`!own` is not allowed"),
        ("a: ! 1\n", 1, "`!` is not allowed"),
        ("a: &x [*x]\n", 1, "`*x` has no anchor before it"),
        ("a: &x {b: *x}\n", 1, "`*x` has no anchor before it"),
        ("a: 1\nb: *x\n", 2, "`*x` has no anchor before it"),
        ("a: 1\n--- \nb: 1\n", 2, "one document per file"),
        ("a: 1\n...\nb: 2\n", 3, "expected <document start>"),
        ("<<<<<<< ours\na: 1\n", 1, "merge-conflict marker"),
        ("a: 1\n>>>>>>> theirs\n", 2, "merge-conflict marker"),
        ("a: 1\n|||||||\n", 2, "merge-conflict marker"),
        ("a: 1\n=======\nb: 1\n", 3, "could not find expected ':'"),
        ("a:\n\tb: 2\n", 2, "cannot start any token"),
        ("a: 1\n\tb: 2\n", 2, "a tab character that violates indentation"),
        ("? [a]\n: 1\n", 1, "a key must be plain text"),
        ("a: 1\n*a : 2\n", 2, "a key must be plain text"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a: 1\nb: @c\n", 2, "cannot start any token"),
        ('a: "\\ud800"\n', 1, "invalid Unicode character"),
        ("a: 1\n]\n", 2, "did not find expected"),
    ],
)
def test_mistake(text: str, line: int, words: str) -> None:
    message = problem(lambda: load(text, NAME))
    assert message.startswith(f"{NAME}:{line}: ")
    assert words in message


def test_line_counts_from_where_the_text_stands() -> None:
    assert problem(lambda: load("a: 1\na: 2\n", NAME, 41)).startswith(f"{NAME}:42: ")
    assert problem(lambda: load("a: 1\n<<<<<<<\n", NAME, 41)).startswith(f"{NAME}:42: ")
    assert problem(lambda: load("a: 1\nb: @c\n", NAME, 41)).startswith(f"{NAME}:42: ")


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x07", "\x1b", "\x7f", "\ufffe"])
def test_control_character(character: str) -> None:
    message = problem(lambda: load(f"a: 1\nb: {character}\n", NAME))
    assert message.startswith(NAME)
    assert f"the character \\u{ord(character):04x} cannot stand in YAML" in message


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x7f"])
def test_line_of_a_control_character(character: str) -> None:
    assert problem(lambda: load(f"a: 1\nb: {character}\n", NAME)).startswith(f"{NAME}:2: ")


@pytest.mark.parametrize("opening", ["'b", '"b', "[b", "{b: 1"])
def test_line_of_what_stays_open(opening: str) -> None:
    text = f"a: {opening}\n" + "\n".join(f"# line {n}" for n in range(2, 50))
    assert problem(lambda: load(text, NAME)).startswith(f"{NAME}:1: ")


@pytest.mark.parametrize("tag", ["!!str", "!!python/name:os.system"])
def test_tag_on_a_key(tag: str) -> None:
    assert problem(lambda: load(f"a: 1\n{tag} b: 2\n", NAME)).startswith(f"{NAME}:2: the tag ")


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_separators_have_to_be_escaped(character: str) -> None:
    """They are text in YAML 1.2 and line ends in YAML 1.1, so that readers would differ."""
    assert problem(lambda: load(f"a: b{character}c\n", NAME)).startswith(f"{NAME}:1: the character ")
    assert load(f'a: "b\\u{ord(character):04x}c"\n', NAME) == {"a": f"b{character}c"}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")])
def test_depth(opening: str, closing: str) -> None:
    value = load(opening * MAX_DEPTH + "x" + closing * MAX_DEPTH, NAME)
    for _ in range(MAX_DEPTH):
        (value,) = value.values() if isinstance(value, dict) else value
    assert value == "x"
    for depth in (MAX_DEPTH + 1, 10_000):
        message = problem(lambda n=depth: load(opening * n + "x" + closing * n, NAME))  # type: ignore[misc]
        assert message == f"{NAME}:1: nested more than 50 deep; flatten it"


def test_indented_markers_are_text() -> None:
    assert load("a: |\n  <<<<<<< this is text\n", NAME) == {"a": "<<<<<<< this is text\n"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("<<<<<<< a", 1),
        ("a\n|||||||\n", 2),
        ("a\n\n>>>>>>> b\n", 3),
        (" <<<<<<< a", None),
        ("<<<<<<<<", None),
    ],
)
def test_conflict_line(text: str, line: int | None) -> None:
    assert conflict_line(text) == line


def test_lines_of_every_value() -> None:
    text = "- id: a\n  input:\n    b: 1\n- id: c\n  judges: [x,\n    y]\n"
    assert strict_yaml.lines(text, NAME, 10) == {
        (): 10,
        (0,): 10,
        (0, "id"): 10,
        (0, "input"): 12,
        (0, "input", "b"): 12,
        (1,): 13,
        (1, "id"): 13,
        (1, "judges"): 14,
        (1, "judges", 0): 14,
        (1, "judges", 1): 15,
    }


# Whatever people may write

INDICATORS = [
    "\n  ",
    "\n- ",
    "- ",
    "? ",
    ": ",
    ", ",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    ">\n",
    "---\n",
    "...\n",
    "<<<<<<< a\n",
]
PIECES = st.sampled_from([*"ab1~é😀 \n\t[]{}!#%@`\\'\"", *INDICATORS])


@unhurried
@given(st.text())
@example("a: \x00")
@example("\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"))
def test_any_text_is_plain_values_or_one_sentence(text: str) -> None:
    try:
        value = load(text, NAME)
    except RecallError as error:
        (message,) = error.messages
        assert message.startswith(NAME)
        assert "\n" not in message
    else:
        assert is_plain(value)


@unhurried
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_yaml_is_plain_values_or_one_sentence_with_a_line(text: str) -> None:
    try:
        value = load(text, NAME)
    except RecallError as error:
        (message,) = error.messages
        found = PLACE.match(message)
        assert found
        # A parser that misses something finds that out on the line after the last one.
        assert int(found[1]) <= text.count("\n") + 2
    else:
        assert is_plain(value)
        assert set(strict_yaml.lines(text, NAME).values()) <= set(range(1, text.count("\n") + 3))


safe_texts = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cn"), exclude_characters="\u2028\u2029\ufeff")
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | safe_texts
    | st.sampled_from(["No", "6:30", "007", "2026-01-31", "1e3", "~", "true", "+1", ".5", "1_000", ".inf", "<<", ""])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(safe_texts, inner, max_size=4), max_leaves=12
)


@unhurried
@given(values, st.sampled_from([None, False, True]), st.booleans())
def test_what_pyyaml_dumps_loads_equal(value: Any, flow: bool | None, unicode: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=unicode, sort_keys=False)
    assume(all(agreed(part) for part in texts_in(value)))
    assume("&" not in text)  # the dumper abbreviates equal empty lists by aliases, which is tested above
    assert load(text, NAME) == value


def texts_in(value: Any) -> list[str]:
    """Return every text of `value` that is no key."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return [value] if isinstance(value, str) else []


def test_it_reads_the_same_where_python_takes_asserts_away() -> None:
    source = "from pytest_recall.files.strict_yaml import load; print(load('a: [1, x]\\n', 'a.yaml'))"
    done = subprocess.run([sys.executable, "-O", "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "{'a': [1, 'x']}\n"
