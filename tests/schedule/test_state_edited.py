"""State file: what other people, merges and later versions made of it."""

from __future__ import annotations

import re
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.schedule.state_head import HEADER
from pytest_recall.trials.trial import Row
from tests.helpers.samples import row, unhurried
from tests.schedule.state_samples import STATE_NAME as NAME
from tests.schedule.state_samples import many, problems, written

DAY = date(2026, 1, 1)
FIELDS = "box: 2, pass_streak: 1, last_tested: 2026-01-01, next_due: 2026-01-04"
CHANGED = {"case-0003": row(5, 9)}


@pytest.mark.parametrize(
    "extra",
    [
        "owner: anna",
        "seen: 3",
        "share: 0.25",
        "at: 2026-01-31",
        "on: true",
        "none: null",
        'why: "a, b: {c}"',
        "list: [1, two]",
        'map: {a: [1, "b c"], d: 2026-01-31}',
        "first: 1, second: {a: 1}",
        "odd-key: 1",
        '"my key": 1',
    ],
)
@pytest.mark.parametrize("total", [2, 100])
def test_unknown_row_keys_survive(extra: str, total: int) -> None:
    text = written(many(total)).replace("last_pr: 1}", f"last_pr: 1, {extra}}}")
    assert extra in text
    state = parse_state(text, NAME)
    after = state.updated({"case-0000": row(5, 9), "case-0001": state.rows["case-0001"]._replace(box=4)})
    expected = strict_yaml.load(f"{{{extra}}}", NAME)
    kept = strict_yaml.load(after, NAME)["cases"]["case-0001"]
    assert kept["box"] == 4
    assert {name: kept[name] for name in expected} == expected
    assert parse_state(after, NAME).updated({}) == after


@pytest.mark.parametrize("key", ["a,b", "a: b", "#a", "{a}"])
def test_unknown_row_keys_that_need_quotes_survive(key: str) -> None:
    text = HEADER + f'  a:\n    {{{FIELDS}, "{key}": 1}}\n'
    after = parse_state(text, NAME).updated({"b": row()})
    assert strict_yaml.load(after, NAME)["cases"]["a"][key] == 1


@pytest.mark.parametrize("value", ["x " * 299 + "x", "two\\nlines", "two  spaces"])
@pytest.mark.parametrize("where", ["row", "top"])
def test_unknown_values_survive_whole(value: str, where: str) -> None:
    more = f'more: "{value}"'
    text = f"version: 1\n{more if where == 'top' else ''}\ncases:\n  a:\n    {{{FIELDS}, {more}}}\n\n"
    found = strict_yaml.load(parse_state(text, NAME).updated({"b": row()}), NAME)
    kept = found["more"] if where == "top" else found["cases"]["a"]["more"]
    assert kept == value.replace("\\n", "\n")


TOP = "# Ours, do not touch.\nversion: 1\nowner: anna\nsince: 2026-01-31\nmore: {a: [1, 2]}\n"


@pytest.mark.parametrize("total", [3, 500])
@pytest.mark.parametrize("changed", [1, 3])
def test_what_stands_above_the_rows_survives(total: int, changed: int) -> None:
    text = written(many(total)).replace("version: 1\n", TOP)
    after = parse_state(text, NAME).updated({f"case-{n:04}": row(5, 9) for n in range(changed)})
    assert after.startswith(text[: text.index("cases:\n")] + "cases:\n")
    assert after.count("box: 5, pass_streak: 9") == changed


def test_unknown_keys_below_the_rows_survive() -> None:
    text = written(many(3)) + "owner: anna\nmore: {a: [1, b], since: 2026-01-31}\n"
    after = parse_state(text, NAME).updated(CHANGED)
    plain = yaml.safe_load(after)
    assert (plain["owner"], plain["more"]) == ("anna", {"a": [1, "b"], "since": date(2026, 1, 31)})
    assert len(plain["cases"]) == 4


def test_what_stands_above_no_rows_survives() -> None:
    after = parse_state("# Ours.\nversion: 1\nowner: anna\ncases:\n", NAME).updated({"a": row()})
    assert strict_yaml.load(after, NAME)["owner"] == "anna"
    assert "# Ours." in after


def test_what_stands_above_unsorted_rows_survives() -> None:
    text = f"{TOP}cases:\n  b:\n    {{{FIELDS}}}\n  a:\n    {{{FIELDS}}}\n"
    after = parse_state("# First.\n" + text, NAME).updated({"a": row(5, 9)})
    assert strict_yaml.load(after, NAME)["owner"] == "anna"
    assert "# Ours, do not touch." in after


def test_comments_between_rows_survive() -> None:
    text, comment, mark = written(many(3)), "  # waits for the new tariff\n", "  case-0001:\n"
    text = text.replace(mark, comment + mark)
    assert comment in parse_state(text, NAME).updated({"case-0002": row(5, 9)})


def test_comments_stay_with_the_row_below_them() -> None:
    both = "  # waits for the new tariff\n  case-0050:\n"
    text = written(many(100)).replace("  case-0050:\n", both)
    assert both in parse_state(text, NAME).updated({"case-0049-b": row()})


def test_comments_above_another_shape_survive() -> None:
    text = "# Ours, do not touch.\nversion: 1\ncases:\n  a: {" + FIELDS + "}\n"
    assert "# Ours, do not touch." in parse_state(text, NAME).updated({"a": row(5, 9)})


@pytest.mark.parametrize(
    "text",
    [
        f"version: 1\ncases: {{a: {{{FIELDS}, last_pr: '12'}}}}\n",
        f"---\ncases:\n  'a': {{{FIELDS}, last_pr: 12}}\nversion: 1\n",
        "version: 1\ncases:\n  a:\n    next_due: 2026-01-04\n    last_tested: '2026-01-01'\n    pass_streak: 1\n"
        "    box: 2\n    last_pr: 12\n    failure_note: ~\n",
        HEADER + f"  a:\n    {{{FIELDS}, last_pr: 12}}",
        HEADER + f"  a:\n    {{{FIELDS}, last_pr: 12}}  # fine\n\n",
        HEADER.replace("version: 1", "version: 1  # of the format") + f"  a:\n    {{{FIELDS}, last_pr: 12}}\n",
        HEADER + '  "a":\n    {last_pr: "12", ' + FIELDS + "}\n",
        HEADER + "  a:\n    {" + FIELDS.replace(", ", ",\n     ") + ", last_pr: 12}\n",
        '{"version": 1, "cases": {"a": {"box": 2, "pass_streak": 1, "last_tested": "2026-01-01",'
        ' "next_due": "2026-01-04", "last_pr": "12"}}}',
    ],
)
def test_other_shapes_of_yaml_are_read(text: str) -> None:
    state = parse_state(text, NAME)
    assert state.rows == {"a": Row(2, 1, DAY, date(2026, 1, 4), "12")}
    assert state.updated({}) == text
    after = state.updated({"b": row(1)})
    assert parse_state(after, NAME).rows == {**state.rows, "b": row(1)}
    assert after.endswith(written({**state.rows, "b": row(1)}).partition("cases:\n")[2])


@pytest.mark.parametrize("text", ["", "\n", "  \n\n"])
def test_empty_file(text: str) -> None:
    assert parse_state(text, NAME).rows == {}
    assert parse_state(text, NAME).updated({"a": row()}) == written({"a": row()})


@pytest.mark.parametrize("text", ["version: 1\ncases:\n", "version: 1\ncases:", "# c\nversion: 1\ncases: {}\n", HEADER])
def test_no_rows_yet(text: str) -> None:
    state = parse_state(text, NAME)
    assert state.rows == {}
    assert state.updated({}) == text
    assert parse_state(state.updated({"a": row()}), NAME).rows == {"a": row()}


@pytest.mark.parametrize("count", [3, 100])
def test_unsorted_rows_are_sorted_with_the_next_change(count: int) -> None:
    lines = re.findall(r"  \S+:\n.*\n", written(many(count)).removeprefix(HEADER))
    text = HEADER + "".join(reversed(lines))
    state = parse_state(text, NAME)
    assert state.rows == many(count)
    assert state.updated({}) == text
    assert state.updated({"case-0001": row(5, 9)}) == written({**many(count), "case-0001": row(5, 9)})


@pytest.mark.parametrize("written_id", ['"case-0003"', "no"])
def test_ids_in_other_quotes_among_many(written_id: str) -> None:
    text = written(many(100)).replace("  case-0003:\n", f"  {written_id}:\n")
    text = text if '"' in written_id else HEADER + "".join(sorted(re.findall(r"  \S+:\n.*\n", text)))
    case_id = written_id.strip('"')
    after = parse_state(text, NAME).updated({case_id: row(5, 9), "case-0004": row(5, 9)})
    assert parse_state(after, NAME).rows[case_id] == row(5, 9)
    assert parse_state(after, NAME).rows["case-0004"] == row(5, 9)


# Mistakes


def refused(text: str) -> list[str]:
    """Return what is said about a state file, which must be refused."""
    return list(problems(lambda: parse_state(text, NAME)))


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ("rows: many", f"{NAME}: rows: must be a count, not 'many'; restore the file from git"),
        ("rows: -1", f"{NAME}: rows: must be a count, not -1; restore the file from git"),
        ("folded: 2026", f"{NAME}:2: folded: must be a list of names; restore the file from git"),
        ("folded: [1]", f"{NAME}:2: folded: must be a list of names; restore the file from git"),
    ],
)
def test_bad_top(top: str, said: str) -> None:
    assert refused(f"version: 1\n{top}\ncases:\n  a:\n    {{{FIELDS}}}\n") == [said]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (FIELDS.replace("box: 2", "box: 6"), "box: must be 1 to 5, not 6"),
        (FIELDS.replace("box: 2", "box: 0"), "box: must be 1 to 5, not 0"),
        (FIELDS.replace("box: 2", "box: two"), "box: must be 1 to 5, not 'two'"),
        (FIELDS.replace("box: 2", "box: 2.0"), "box: must be 1 to 5, not 2.0"),
        (FIELDS.replace("box: 2", "box: true"), "box: must be 1 to 5, not True"),
        (FIELDS.replace("box: 2, ", ""), "box is missing"),
        (FIELDS.replace("streak: 1", "streak: -1"), "pass_streak: must be a count, not -1"),
        (FIELDS.replace("streak: 1", "streak: " + "9" * 5000), "pass_streak: must be a count, not"),
        (FIELDS.replace("2026-01-01", "2026-02-30"), "last_tested: '2026-02-30' is not a date like 2026-01-31"),
        (FIELDS.replace("2026-01-04", "soon"), "next_due: 'soon' is not a date like 2026-01-31"),
        (FIELDS.replace("2026-01-04", "~"), "next_due: None is not a date like 2026-01-31"),
        (FIELDS + ", last_pr: [1]", "last_pr: must be text"),
        (FIELDS + ", failure_note: {a: 1}", "failure_note: must be text"),
        (FIELDS + ", touched: 12", "touched: must be a list of pull requests or commits"),
        (FIELDS + ", touched: [[12]]", "touched: must be a list of pull requests or commits"),
        (FIELDS + ", evidence: 0.5", "evidence: must be a number from 1 up, not 0.5"),
        (FIELDS + ", evidence: much", "evidence: must be a number from 1 up, not 'much'"),
    ],
)
def test_bad_row(fields: str, words: str) -> None:
    good = f"  a:\n    {{{FIELDS}}}\n"
    (message,) = refused(f"{HEADER}{good}  b:\n    {{{fields}}}\n")
    assert message.startswith(f"{NAME}:8: b: {words}")
    assert message.endswith("; correct the row, or restore the file from git")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEADER + "  a: 5\n", 5, "a: must be a mapping in braces"),
        (HEADER + f"  a:\n    {{{FIELDS}}}\n" * 2, 7, "`a` is written twice"),
        (HEADER + f'  a:\n    {{{FIELDS}}}\n  "a":\n    {{{FIELDS}}}\n', 7, "`a` is written twice"),
        (HEADER + f"  a:\n    {{{FIELDS}, x: {{}}, box: 3}}\n", 6, "`box` is written twice"),
        (HEADER + f"  a:\n<<<<<<< ours\n    {{{FIELDS}}}\n=======\n", 6, "merge-conflict marker; "),
        (HEADER + f"  a:\n    {{{FIELDS}}}\n=======\n", 8, "could not find expected ':'"),
        (HEADER + f"  a:\n    {{{FIELDS}, x: !!str y}}\n", 6, "the tag `tag:yaml.org,2002:str` is not allowed"),
        (HEADER + f"  a:\n    {{{FIELDS}}} }}\n", 6, "did not find expected"),
        (HEADER + "\ta:\n", 5, "found character that cannot start any token"),
        (HEADER.replace("version: 1", "version: 2"), 3, "version 2 is unknown, this pytest-recall reads 1; upgrade it"),
        ("version: one\n", 1, "version 'one' is unknown"),
        ("cases:\n  a: {}\n", 1, "not a state file: `version: 1` is missing; restore it from git"),
        ("- a\n", 1, "not a state file"),
        ("just text\n", 1, "not a state file"),
        ("version: 1\ncases: [a]\n", 2, "cases: must map ids to rows; restore it from git"),
        ("version: 1\ncases: text\n", 2, "cases: must map ids to rows"),
    ],
)
def test_bad_file(text: str, line: int, words: str) -> None:
    (message,) = refused(text)
    assert message.startswith(f"{NAME}:{line}: {words}")


@pytest.mark.parametrize("more", ["box: 3", "next_due: 2026-02-02", "x: 1, x: 2", "last_pr: a, x: 1, last_pr: b"])
def test_a_field_twice(more: str) -> None:
    (message,) = refused(HEADER + f"  a:\n    {{{FIELDS}, {more}}}\n")
    assert message.startswith(f"{NAME}:6: ")
    assert "is written twice" in message


def test_every_bad_row_at_once() -> None:
    text = HEADER + "".join(f"  c{n}:\n    {{{FIELDS.replace('box: 2', 'box: 9')}}}\n" for n in range(3))
    assert [message.split(":")[1] for message in refused(text)] == ["6", "8", "10"]


def test_a_file_that_was_cut_off_is_refused() -> None:
    text = written(many(3))
    start = text.index("  case-0001")
    for end in range(start + len("  case-0001:\n"), text.index("}", start)):
        assert refused(text[:end])


@pytest.mark.parametrize("rest", ["  case", "garbage", "  zoo:"])
def test_a_file_that_was_cut_off_within_a_key_is_refused(rest: str) -> None:
    assert refused(written(many(3)) + rest)


def test_a_comment_at_the_end_without_a_line_end() -> None:
    after = parse_state(written(many(100)) + "# the end", NAME).updated({"zoo": row()})
    assert "zoo" in parse_state(after, NAME).rows


@pytest.mark.parametrize("broken", ["version: 1\n  {{{ what\n", "version: 1\nversion: 2\n", "version: 1\ncases: {}\n"])
def test_a_broken_head_is_refused(broken: str) -> None:
    assert refused(written(many(3)).replace("version: 1\n", broken))


@unhurried
@given(st.text(), st.booleans())
def test_any_text_is_rows_or_sentences(text: str, below: bool) -> None:
    try:
        rows = parse_state(HEADER + text if below else text, NAME).rows
    except RecallError as error:
        said = error.messages
    else:
        said = tuple(f"{NAME}: {type(row).__name__}" for row in rows.values())
    assert all(message.startswith(NAME) for message in said)
