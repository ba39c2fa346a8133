"""A history of changes: how its lines are read, and what it says."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.schedule import change_history_file
from pytest_recall.schedule.bank import AffectedCase, Bank
from pytest_recall.schedule.change_backtest import known_of, play, usual_policies
from pytest_recall.schedule.change_history import (
    FIELDS,
    ChangeHistory,
    as_affected,
    facts_of,
    flake_of,
    mistakes,
    parse_change,
    suite_of,
)
from pytest_recall.schedule.change_history_file import read_history
from pytest_recall.schedule.change_mix import mix_of
from pytest_recall.trials.series import Rule
from tests.schedule.history_samples import history_of, small, uncounted, write

LINE = {"commit": "c", "date": "2026-01-01"}
CASE = [0, "one", ["r"], [10, 0]]


@pytest.mark.parametrize("name", ["table.jsonl", "table.jsonl.gz"])
@pytest.mark.parametrize(("lines", "counted"), [(small(), True), (uncounted(), False)])
def test_both_kinds_are_read_plain_and_compressed(tmp_path: Path, name: str, lines: Any, counted: bool) -> None:
    found = read_history(write(tmp_path / name, lines), name)
    assert found.counted is counted
    assert found == history_of(lines)


def test_two_compressed_parts_are_one_history(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl.gz"
    path.write_bytes(b"".join(gzip.compress(json.dumps(line).encode() + b"\n") for line in small()))
    assert read_history(path, "t") == history_of(small())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"date": "2026-01-01"}, "commit: is missing; add it"),
        ({"commit": "c"}, "date: is missing; add it"),
        ({**LINE, "commit": ""}, "commit: must be text that is not empty, not ''"),
        ({**LINE, "date": "January"}, "date: 'January' is not a date; write one like 2026-01-31"),
        ({**LINE, "date": "0001-01-01"}, "date: '0001-01-01' is not a date; write one like 2026-01-31"),
        ({**LINE, "date": 20260101}, "date: 20260101 is not a date; write one like 2026-01-31"),
        ({**LINE, "source": "yes"}, "source: must be true or false, not 'yes'"),
        ({**LINE, "path": []}, "path: unknown field; did you mean `paths`?"),
        ({**LINE, "paths": [1]}, "paths: must be a list of texts"),
        ({**LINE, "cases": "many"}, "cases: must be a list of cases or their number, not 'many'"),
        ({**LINE, "cases": True}, "cases: must be a list of cases or their number, not True"),
        (
            {**LINE, "cases": [[0, "one", ["r"]]]},
            "cases.0: must be [index, name, [request, …], [passes, fails] or null]",
        ),
        (
            {**LINE, "cases": [[-1, "one", ["r"], None]]},
            "cases.0.0: must be the index of a case, a whole number from 0, not -1",
        ),
        (
            {**LINE, "added": [[0, "one", ["r"], [0, 0]]]},
            "added.0.3: must be counts of trials, [passes, fails], or null, not [0, 0]",
        ),
        ({**LINE, "removed": 3}, "removed: must be a list in brackets, not 3"),
        (
            {**LINE, "changed": [[0, ["a"], ["b"], [1.5, 0], None]]},
            "changed.0.3: must be counts of trials, [passes, fails], or null, not [1.5, 0]",
        ),
        (
            {**LINE, "changed": [[0, ["a"], ["b"]]]},
            "changed.0: must be [index, [request before, …], [request after, …], [passes, fails] before, [passes,"
            " fails] after], or without counts [index, name, [request before, …], [request after, …], true if an answer"
            " changed]",
        ),
        ({**LINE, "differences": ["a"]}, "differences: must be a list of texts, one for each of `changed`"),
    ],
)
def test_a_wrong_line_gets_one_sentence(tmp_path: Path, line: dict[str, Any], said: str) -> None:
    path = write(tmp_path / "t.jsonl", [{**LINE, "cases": [CASE]}, line])
    with pytest.raises(RecallError) as caught:
        read_history(path, "t.jsonl")
    assert caught.value.messages == (f"t.jsonl:2: {said}",)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [{**LINE, "cases": [CASE]}, {**LINE, "changed": [[1, ["a"], ["b"], None, None]]}],
            "t:2: changed: case 1 is not one of the set; list it in `cases` or `added` before",
        ),
        (
            [{**LINE, "cases": [CASE, CASE]}],
            "t:1: cases: case 0 is there already; give the new one an index of its own",
        ),
        ([{**LINE, "cases": [CASE]}, {**LINE, "removed": [4]}], "t:2: removed: case 4 is not one of the set"),
        (
            [{**LINE, "cases": [CASE]}, {**LINE, "removed": [0]}, {**LINE, "changed": [[0, ["a"], ["b"], None, None]]}],
            "t:3: changed: case 0 is not one of the set; list it in `cases` or `added` before",
        ),
        (
            [{**LINE, "cases": [CASE]}, {**LINE, "cases": 3}],
            "t:2: cases: the first line lists the cases, so that no later one has their number; remove it",
        ),
        (
            [{**LINE, "cases": [CASE]}, {**LINE, "changed": [[0, "one", ["a"], ["b"], False]]}],
            "t:2: changed: case 0 has no counts, as others of this history do; write null",
        ),
        (
            [LINE, {**LINE, "added": [CASE]}],
            "t:2: there are counts or cases, and the first line of the history lists none; give it `cases`",
        ),
    ],
)
def test_lines_have_to_fit_together(tmp_path: Path, lines: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(RecallError) as caught:
        read_history(write(tmp_path / "t", lines), "t")
    assert caught.value.messages == (said,)


def test_a_file_that_is_none_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl.gz"
    whole = gzip.compress(json.dumps(small()[0]).encode())

    def said() -> str:
        with pytest.raises(RecallError) as caught:
            read_history(path, "t")
        (message,) = caught.value.messages
        return message

    assert said() == "t: cannot be read (No such file or directory); check that it is there and readable"
    path.write_bytes(b"{}")
    assert said() == "t: is not compressed with gzip; give a .jsonl, or compress it again"
    path.write_bytes(whole[:-12])
    assert said() == "t: the compressed data ends too early; write the file again"
    path.write_bytes(gzip.compress(b'{"commit": "\xff"}'))
    assert said() == "t:1: byte 12 is not UTF-8; save the file as UTF-8"
    path.write_bytes(gzip.compress(b"\n"))
    assert said() == "t: no changes; write a line for each, such as `recall schedule export-history` does"
    monkeypatch.setattr(change_history_file, "MAX_BYTES", 1 << 20)
    path.write_bytes(gzip.compress(b" " * (1 << 21)))
    assert said() == "t: larger than 1 MB when decompressed; split it"
    path.write_bytes(b" " * ((1 << 20) + 1))
    assert said() == "t: larger than 1 MB; split it"


def test_no_more_than_twenty_lines_are_told(tmp_path: Path) -> None:
    with pytest.raises(RecallError) as caught:
        read_history(write(tmp_path / "t", [{"commit": "c"}] * 30), "t")
    assert len(caught.value.messages) == 20


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 12)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "2026-01-01"]),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=12,
)
COUNTS = st.none() | st.tuples(st.integers(0, 11), st.integers(1, 11)).map(list)
REQUESTS = st.lists(st.sampled_from(["r", "s"]), max_size=2)
ENTRY = st.tuples(st.integers(0, 4), REQUESTS, REQUESTS, COUNTS, COUNTS).map(list)
LINES = st.fixed_dictionaries(
    {"commit": st.just("c"), "date": st.dates(date(2020, 1, 1), date(2020, 3, 1)).map(str)},
    optional={
        "source": st.booleans(),
        "changed": st.lists(ENTRY, max_size=3),
        "removed": st.lists(st.integers(0, 4), max_size=1),
        "added": st.just([[9, "new", ["r"], [1, 0]]]),
    },
)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6))
def test_whatever_a_line_has_it_is_read_or_told_by_its_field(line: dict[str, Any]) -> None:
    try:
        commit = parse_change(line).commit
    except ValueError as error:
        commit = ""
        said = str(error)
    assert commit == line.get("commit") if commit else said.partition(":")[0].partition(".")[0] in FIELDS


@given(st.lists(LINES, max_size=6), st.booleans())
def test_a_history_that_fits_together_can_be_played(lines: list[dict[str, Any]], has_cases: bool) -> None:
    first = {**LINE, "cases": [[n, f"s - {n}", ["r"], [10, 0]] for n in range(5)]} if has_cases else {**LINE}
    changes = [parse_change(line) for line in [first, *lines]]
    if list(mistakes(enumerate(changes, start=1))):
        return
    history = ChangeHistory(tuple(changes), has_cases)
    facts = facts_of(history)
    assert facts.days > 0
    for policy in known_of(history, usual_policies(Bank(0.1, 2), Rule("fail", 2, 3))):
        found = play(history, policy, 0.04)
        assert found.asked <= found.runs + found.batched
        assert (found.caught is None) is (not has_cases)
    assert len(mix_of([history]).histories[0]) == facts.played


def test_what_a_counted_history_says() -> None:
    facts = facts_of(history_of(small()))
    assert (facts.first, facts.last, facts.days) == (date(2026, 1, 1), date(2026, 2, 12), 43)
    assert (facts.played, facts.touching, facts.affected, facts.cases) == (6, 3, 74, 80)
    assert facts.breadth == pytest.approx(3 / 80)
    assert (facts.falls, facts.outside) == (3, 0)
    assert facts.bad is not None
    assert [(one.commit, one.affected, one.broken, one.is_local) for one in facts.bad] == [
        ("a1", 3, (0,), True),
        ("a5", 70, (70,), False),
    ]
    assert (facts.measured, facts.flaky) == (81, 2)  # Case 1 passed in 8 of 10 trials, case 8 in half.


def test_a_fall_outside_of_the_affected_cases_is_counted() -> None:
    lines = small()
    lines[3]["changed"].append([2, ["r2"], ["r2"], [10, 0], [9, 1]])
    facts = facts_of(history_of(lines))
    assert (facts.falls, facts.outside) == (4, 1)


def test_what_is_not_on_record_is_none_and_not_zero() -> None:
    facts = facts_of(history_of(uncounted()))
    assert (facts.played, facts.touching, facts.affected, facts.cases) == (3, 2, 5, 12)
    assert facts.breadth == pytest.approx((4 / 10 + 1 / 12) / 2)
    assert (facts.falls, facts.outside, facts.bad, facts.measured, facts.flaky) == (None,) * 5


def test_the_flake_is_that_of_sound_cases() -> None:
    flakes = flake_of(history_of(small()))
    assert 8 not in flakes  # It fails in half of its trials.
    assert 9 not in flakes
    assert 70 not in flakes
    assert flakes[0] == 0.0


def test_a_suite_is_what_a_name_begins_with() -> None:
    assert suite_of("fix (eslint) [inline] - no-new") == "fix (eslint) [inline]"
    assert suite_of("Agent/sub/case") == "Agent/sub"
    assert suite_of("alone") == "alone"


def test_a_difference_on_record_goes_before_a_suite() -> None:
    (change,) = parse_change(
        {**LINE, "changed": [[0, ["a"], ["b"], None, None]], "differences": ["the greeting"]}
    ).affected
    assert as_affected([change], {0: "few - 0"}, {0: 2}) == [AffectedCase("0", "the greeting", 2)]
    assert as_affected([change._replace(difference="")], {0: "few - 0"}, {}) == [AffectedCase("0", "few", 0)]
