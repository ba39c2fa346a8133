"""Sizes that are proposed: a night that asks every case within a week, and a budget only where prices are known."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.sizing import LEAST_NIGHT, SWEEP_NIGHTS, block, nightly_cases, recommended
from pytest_recall.trials.detector import RatioRule
from pytest_recall.trials.series import confirming


@pytest.mark.parametrize(("cases", "nightly"), [(0, 10), (4, 10), (60, 10), (61, 11), (800, 134), (5000, 834)])
def test_the_size_of_a_night(cases: int, nightly: int) -> None:
    assert nightly_cases(cases) == nightly


@given(st.integers(0, 10**6))
def test_a_night_asks_every_case_in_time_and_no_more_than_that_takes(cases: int) -> None:
    nightly = nightly_cases(cases)
    assert nightly * SWEEP_NIGHTS >= cases
    assert nightly == LEAST_NIGHT or (nightly - 1) * SWEEP_NIGHTS < cases


@pytest.mark.parametrize(("cases", "nights"), [(1, "1 night"), (10, "1 night"), (11, "2 nights"), (800, "6 nights")])
def test_it_says_in_how_many_nights_each_case_is_asked(cases: int, nights: str) -> None:
    (line,) = (one for one in recommended(cases, None) if one.name == "nightly_cases")
    assert line.why.endswith(f" {nights}")


@given(st.integers(1, 10**5), st.none() | st.floats(0, 10**5))
def test_what_is_written_is_yaml_with_one_line_for_each_setting(cases: int, usd: float | None) -> None:
    settings = yaml.safe_load(block(cases, usd))
    lines = recommended(cases, usd)
    assert list(settings) == [line.name for line in lines if not line.is_comment]
    assert all(line.why for line in lines)
    assert isinstance(confirming(settings["confirm"]), RatioRule)


@pytest.mark.parametrize(
    ("usd", "line"),
    [
        (None, "# budget: 10"),
        (0.0, "# budget: 10"),
        (0.001, "budget: 0.01"),
        (3.201, "budget: 3.21"),
        (31.2, "budget: 32"),
        (1234.5, "budget: 1235"),
    ],
)
def test_a_budget_is_what_all_cases_cost_once(usd: float | None, line: str) -> None:
    (budget,) = (one for one in recommended(800, usd) if one.name == "budget")
    assert budget.text == line
    assert budget.is_comment == line.startswith("#")
