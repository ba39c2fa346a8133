"""Tests of core.horizon.ranges."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.question import DEFAULT, FULL, Range, parse_range, parse_ranges, shorter


@pytest.mark.parametrize(
    ("written", "label", "days"),
    [
        (7, "7d", 7),
        ("7", "7d", 7),
        ("7d", "7d", 7),
        ("2m", "2m", 60),
        ("2mo", "2mo", 60),
        ("6mo", "6mo", 180),
        ("3y", "3y", 1095),
        ("full", "full", FULL),
        ({"label": "launch", "days": 12}, "launch", 12),
    ],
)
def test_every_way_to_write_a_range(written: Any, label: str, days: int) -> None:
    assert parse_range(written) == Range(label, days)


@pytest.mark.parametrize(
    "written", [0, -1, True, "0d", "d", "7w", "", None, 1.5, {"days": 3}, {"label": "", "days": 3}]
)
def test_what_is_no_range_is_refused(written: Any) -> None:
    with pytest.raises(RecallError, match="is not a range; write days like 30"):
        parse_range(written)


def test_a_progression_includes_its_end_only_if_it_lands_on_it() -> None:
    assert [one.label for one in parse_ranges({"start": 6, "end": 18, "step": 6})] == ["6d", "12d", "18d"]
    assert [one.label for one in parse_ranges({"start": 6, "end": 17, "step": 6})] == ["6d", "12d"]


def test_a_series_may_hold_progressions_and_comes_sorted() -> None:
    found = parse_ranges({"series": ["full", {"start": 10, "end": 20, "step": 10}, "10d", 5]})

    assert [one.label for one in found] == ["5d", "10d", "20d", "full"]


@pytest.mark.parametrize("text", ["30d,90d,full", "30d 90d full", "30d, 90d  full"])
def test_commas_and_spaces_separate_alike(text: str) -> None:
    assert [one.days for one in parse_ranges(text)] == [30, 90, FULL]


def test_two_labels_at_one_day_are_two_checkpoints() -> None:
    assert [one.label for one in parse_ranges(["6mo", "180d", "6mo"])] == ["6mo", "180d"]


@pytest.mark.parametrize(
    "written", [[], "", {}, None, {"start": 9, "end": 3, "step": 1}, {"start": 1, "end": 9, "step": 0}]
)
def test_no_ranges_are_refused(written: Any) -> None:
    with pytest.raises(RecallError, match=r"^ranges: "):
        parse_ranges(written)


def test_a_progression_without_end_is_refused_before_it_is_made() -> None:
    with pytest.raises(RecallError, match="take a larger step"):
        parse_ranges({"start": 1, "end": 10**9, "step": 1})


def test_a_range_is_cut_at_the_last_day() -> None:
    assert Range("full", FULL).cutoff(60) == 60
    assert Range("30d", 30).cutoff(60) == 30


@pytest.mark.parametrize(
    ("ranges", "last", "option", "written"),
    [
        (DEFAULT, 60, "--ranges 30d 60d", "ranges: [30d, 60d]"),
        (DEFAULT, 180, "--ranges 30d 90d 180d", "ranges: [30d, 90d, 180d]"),
        (DEFAULT, 12, "--ranges 12d", "ranges: [12d]"),
        (parse_ranges(["6mo", "full"]), 400, "--ranges 6mo 400d", "ranges: [6mo, 400d]"),
        (
            parse_ranges({"start": 6, "end": 180, "step": 6}),
            48,
            "--ranges 6d 12d 18d 24d 30d 36d 42d 48d",
            "ranges: {start: 6, end: 48, step: 6}",
        ),
    ],
)
def test_ranges_that_end_the_days_once(ranges: tuple[Range, ...], last: int, option: str, written: str) -> None:
    assert shorter(ranges, last) == (option, written)
    for one in (option.split()[1:], strict_yaml.load(written, "x")["ranges"]):
        cutoffs = [found.cutoff(last) for found in parse_ranges(one)]
        assert len(cutoffs) == len(set(cutoffs))
        assert {found.cutoff(last) for found in ranges} == set(cutoffs)
