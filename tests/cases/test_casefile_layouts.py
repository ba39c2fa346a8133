"""The two ways of reading a case file, cut into rows or whole, come to the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recall.cases import case_file
from pytest_recall.cases.case import Case
from pytest_recall.files.errors import RecallError
from tests.helpers.samples import costly, unhurried
from tests.schedule.state_samples import PLACE, agreed, read, usual

Outcome = tuple[dict[str, int], list[Case]] | None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for properties, whose examples may share it."""
    return tmp_path_factory.mktemp("casefile")


def outcome(folder: Path, text: str) -> Outcome:
    """Return the lines and cases of a case file; None if it is refused, each mistake with its place."""
    try:
        file = read(folder, text)
        return file.lines, file.cases()
    except RecallError as error:
        said = error.messages
    assert said
    assert all(PLACE.match(message) for message in said)
    return None


def lazily(folder: Path, text: str) -> Outcome:
    """Return the outcome for a file that is too large to be read whole at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case_file, "LAZY_BYTES", 0)
        return outcome(folder, text)


# What means something in YAML, and a few characters that do not.
texts = st.text("aZ01 -:#,'\"\\{}[]|>!%@`~?\n\té😀", max_size=12).filter(agreed)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
cases = st.fixed_dictionaries(
    {
        "id": st.text("abE01", min_size=1, max_size=5).filter(agreed),
        "scenario": st.sampled_from(["loans", "fees", "No"]),
        "dimension": st.just("d"),
        "input": texts.filter(bool) | st.dictionaries(texts, json_values, min_size=1, max_size=3),
        "judges": st.lists(
            st.just("exact") | st.builds(lambda value: {"contains": value}, json_values), min_size=1, max_size=3
        ),
    },
    optional={
        "expected": json_values,
        "threshold": st.sampled_from([0, 0.5, 1]),
        "tags": st.lists(st.sampled_from(["money", "slow"]), max_size=2),
        "notes": texts,
    },
)
files: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    cases, min_size=1, max_size=4, unique_by=lambda case: str(case["id"])
)


def id_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `rows` in the usual layout."""
    return [{"id": row["id"], **row} for row in rows]


def dumped(value: Any) -> str:
    """Return rows as YAML without aliases, as they stand."""
    dumper: Any = type("Plain", (yaml.SafeDumper,), {"ignore_aliases": lambda self, data: True})
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True)


@costly
@given(files)
def test_every_layout_gives_the_same_cases(folder: Path, rows: list[dict[str, Any]]) -> None:
    rows = id_first(rows)
    text = dumped(rows)
    assume("&" not in text)
    expected = [Case.model_validate(row) for row in rows]
    ids = [row["id"] for row in rows]
    reordered = dumped([dict(reversed(row.items())) for row in rows])
    layouts = {
        "usual": text,
        "read whole": text + "# &\n",
        "with a start": "---\n" + text,
        "with comments": "# first\n" + text.replace("\n- id", "\n# next\n\n- id"),
        "id not first": reordered,
        "in one line": json.dumps(rows, ensure_ascii=False) + "\n",
        "indented": "  " + text.replace("\n", "\n  ") + "\n",
    }
    for layout, written in layouts.items():
        for found in (outcome(folder, written), lazily(folder, written)):
            assert found is not None, layout
            assert (list(found[0]), found[1]) == (ids, expected), layout
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert read(folder, lines, ".jsonl").cases() == expected


@costly
@given(files)
def test_lines_are_those_of_the_whole_file(folder: Path, rows: list[dict[str, Any]]) -> None:
    text = dumped(id_first(rows))
    assume("&" not in text)
    starts = [number for number, line in enumerate(text.split("\n"), start=1) if line.startswith("- id:")]
    for found in (outcome(folder, text), outcome(folder, text + "# &\n"), lazily(folder, text)):
        assert found is not None
        assert list(found[0].values()) == starts


LINES = st.sampled_from(
    [
        "- id: a",
        "- id: b",
        '- id: "c"',
        "- id: 'd'",
        "- id: 5",
        "- id: a b",
        "- id: a # note",
        "- id:",
        "-",
        "- scenario: s",
        "  id: e",
        "  scenario: s",
        "  dimension: d",
        "  input: x",
        "  judges: [exact]",
        "  notes: |",
        "    - id: z",
        "  - id: z",
        "  turns:",
        "  - q",
        "# note",
        "---",
        "",
        "   more",
        "surplus: 1",
    ]
)
bodies = st.permutations(["  scenario: s", "  dimension: d", "  input: x", "  judges: [exact]"])
row_lines = st.builds(lambda first, body, more: [first, *body, *more], LINES, bodies, st.lists(LINES, max_size=2))


@unhurried
@given(st.lists(row_lines, max_size=4))
def test_cut_and_whole_agree_on_whatever_people_write(folder: Path, rows: list[list[str]]) -> None:
    text = usual("first") + "".join(f"{line}\n" for row in rows for line in row)
    whole = outcome(folder, text + "# &\n")
    assert outcome(folder, text) == whole
    assert lazily(folder, text) == whole


# The whole text is one row with a note of three lines; the cut takes its second line for a row.
QUOTED = usual("a", 'notes: "one\n- id: b\n  two"')


def test_row_like_line_within_quotes(tmp_path: Path) -> None:
    (case,) = read(tmp_path, QUOTED).cases()
    assert case.notes == "one - id: b two"


@pytest.mark.xfail(strict=True, reason="only in a large file, such a text is refused")
def test_row_like_line_within_quotes_of_a_large_file(folder: Path) -> None:
    assert lazily(folder, QUOTED) == outcome(folder, QUOTED)


def test_text_before_the_first_row(folder: Path) -> None:
    text = "  id: lost\n  scenario: s\n" + usual("a")
    assert outcome(folder, text) is None
    assert lazily(folder, text) is None


@pytest.mark.parametrize("end", ["\r", "\u2028", "\x85"])
def test_row_after_another_kind_of_line_end(folder: Path, end: str) -> None:
    text = usual("a") + f"  notes: n{end}" + usual("b")
    assert outcome(folder, text) == outcome(folder, text + "# &\n")


@unhurried
@given(st.text() | st.binary(), st.sampled_from([".yaml", ".jsonl"]), st.booleans())
def test_any_content_is_cases_or_sentences(folder: Path, content: str | bytes, suffix: str, lazy: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if lazy:
            patch.setattr(case_file, "LAZY_BYTES", 0)
        said: tuple[str, ...] = ()
        try:
            read(folder, content, suffix).cases()
        except RecallError as error:
            said = error.messages
        assert all(message.startswith("cases.") and "\n" not in message for message in said)


@pytest.mark.parametrize("layout", [yaml.safe_dump, json.dumps])
def test_an_id_has_one_spelling(folder: Path, layout: Callable[[Any], str]) -> None:
    """On macOS a letter with a mark is often written as two characters."""
    files = [
        layout([{"id": spelt, "scenario": "one", "dimension": "facts", "input": "x", "judges": ["polite"]}])
        for spelt in ("caf\u00e9", "cafe\u0301")
    ]
    composed, apart = (outcome(folder, text) for text in files)
    assert composed is not None
    assert apart == composed == lazily(folder, files[1])
    assert list(composed[0]) == ["caf\u00e9"]
