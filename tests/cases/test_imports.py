"""Tests on their way to cases: their ids, their judges, and why one of them is no case."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases import imports
from pytest_recall.cases.imports import (
    ImportedSet,
    ImportedTest,
    ImportOptions,
    Judge,
    unwritable,
)
from pytest_recall.files.errors import RecallError

SIMILAR = {"similarity": {"threshold": 0.9}}


def draft(**fields: Any) -> ImportedTest:
    """Return a test that is judged, with these fields."""
    return ImportedTest(place="set.json:1", fields={"input": "Open on Sunday?", **fields}, judges=["exact"])


def added(*drafts: ImportedTest, **wanted: Any) -> ImportedSet:
    """Return what becomes of some tests."""
    into = ImportedSet(ImportOptions(**wanted), "desk")
    for one in drafts:
        into.add(one)
    return into


def test_a_test_without_a_name_is_called_by_its_number() -> None:
    blank = draft()
    blank.names = [("input", "???", "")]
    assert [(case.id, case.named_by) for case in added(draft(), blank).cases] == [
        ("case-1", "position"),
        ("case-2", "position"),
    ]


def test_a_name_is_as_long_as_an_id_may_be_with_all_that_tells_it_from_others() -> None:
    told, again = draft(), draft()
    told.names = again.names = [("description", "Loans", "-".join(["the-value-of-a-variable"] * 12))]
    first, second = added(told, again).cases
    assert first.id.startswith("loans-the-value-of-a-variable-the-value-of-a-variable-")
    assert second.id == f"{first.id}-2"


def test_what_fits_no_case_is_said_and_its_id_is_free_again() -> None:
    broken, whole = draft(input=""), draft()
    broken.names = whole.names = [("input", "Open on Sunday?", "")]
    found = added(broken, whole)
    assert [case.id for case in found.cases] == ["open-on-sunday"]
    [remark] = found.remarks
    assert remark.what == "its fields fit no case (give either `input` or `turns`)"
    assert (remark.advice, remark.whole) == ("write it by hand", True)


def test_there_are_not_more_cases_than_a_file_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_CASES", 1)
    with pytest.raises(RecallError, match=r"^set\.json:1: makes more than 1 cases; import it in parts$"):
        added(draft(), draft())


@pytest.mark.parametrize(
    ("judge", "carried"),
    [
        ("exact", False),
        (SIMILAR, False),
        ({"similarity": None}, False),
        ({"similarity": {"expected": "six"}}, True),
        ({"contains": "six"}, True),
        ({"rubric": None}, True),
        ({"rubric": {"threshold": 1}}, True),
    ],
)
def test_a_default_judge_needs_something_to_compare_with(judge: Judge, carried: bool) -> None:
    test = draft()
    test.judges = []
    found = added(test, judges=(judge,))
    assert [case.row["judges"] for case in found.cases] == [[judge]] * carried
    assert [remark.what for remark in found.remarks] == ["nothing that --default-judge could compare with"] * (
        not carried
    )
    test = draft(expected="six")
    test.judges = []
    assert len(added(test, judges=(judge,)).cases) == 1


def nested(depth: int) -> Any:
    """Return a list in a list, so many times."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (nested(40), ""),
        (nested(41), "nested more than 40 deep"),
        ({"k" * 500: 1}, ""),
        ([{"k" * 501: 1}], "a key of more than 500 characters"),
        ({"\ud800": 1}, "half a character, which no file can hold"),
    ],
)
def test_what_no_file_can_hold_has_a_reason(value: Any, problem: str) -> None:
    assert unwritable(value) == problem


def test_one_message_of_the_user_is_the_input_itself() -> None:
    test = ImportedTest(place="set.json:1")
    test.ask([{"role": "user", "content": "Open on Sunday?"}])
    assert (test.fields, test.remarks) == ({"input": "Open on Sunday?"}, [])
