"""What turns a check red: failures by the rule, and whatever keeps a run from showing that there are none."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.gate import Blocks
from pytest_recall.results.scorecard import blocking, summarize
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, TODAY, failing, header, row, trial

RULES: tuple[Blocks, ...] = ("regression", "failure", "incomplete")
OUTAGE = [trial(f"c{number}", ERROR, error="agent: RuntimeError: 401 invalid api key") for number in range(8)]


def why(
    trials: list[Trial], blocks: Blocks = "regression", allowed: float = 0, left: int = 0, **more: Any
) -> list[str]:
    picks = [(one.case_id, "due") for one in trials] + [(f"left{number}", "due") for number in range(left)]
    record = Record(header(*picks), tuple(trials), 0)._replace(**more)
    return blocking(record, summarize(trials, picks, 40, TODAY), blocks, allowed)


@pytest.mark.parametrize("blocks", RULES)
def test_an_outage_is_never_green(blocks: Blocks) -> None:
    (said,) = why(OUTAGE, blocks)
    assert said == "8 of 8 cases without a verdict, 0 allowed: 8 error (agent: RuntimeError: 401 invalid api key)"
    assert why(OUTAGE, "never") == []


@pytest.mark.parametrize(("allowed", "red"), [(0, True), (9, True), (10, False), (0.8, True), (0.99, True), (1, True)])
def test_a_handful_may_be_allowed(allowed: float, red: bool) -> None:
    """Of ten chosen cases all: 8 errors and two that were not run."""
    assert bool(why(OUTAGE, allowed=allowed, left=2)) == red


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([trial("a", PASSED)], [[], [], []]),
        ([trial("a", FAILED, row=row(3))], [["regressed: a"], ["failed: a"], ["failed: a"]]),
        ([trial("a", FAILED)], [[], ["failed: a"], ["failed: a"]]),
        ([trial("a", FAILED, row=failing())], [[], ["failed: a"], ["failed: a"]]),
        (
            [trial("a", SKIPPED)],
            [["1 of 1 cases without a verdict, 0 allowed: 1 skipped (agent: TimeoutError: no answer)"]] * 3,
        ),
    ],
    ids=["passed", "regression", "new", "known", "skipped"],
)
def test_the_rules(trials: list[Trial], said: list[list[str]]) -> None:
    assert [why(trials, blocks) for blocks in RULES] == said


def test_incomplete_allows_none() -> None:
    skipped = [trial("a", SKIPPED)]
    assert [bool(why(skipped, blocks, allowed=1)) for blocks in RULES] == [False, False, True]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"also": ("eval/test_x.py::test_x failed",)}, "beside the cases: eval/test_x.py::test_x failed"),
        ({"also": tuple("abcdefg")}, "beside the cases: a, b, c, d, e and 2 more"),
        ({"exit_code": 3}, "pytest ended with 3"),
        ({"exit_code": 2, "why": "the budget of $1.00 is spent"}, "pytest ended with 2: the budget of $1.00 is spent"),
    ],
)
def test_what_is_no_matter_of_an_answer(more: dict[str, Any], said: str) -> None:
    assert why([trial("a", PASSED)], **more) == [said]
    assert why([trial("a", PASSED)], "never", **more) == []


def test_many_are_named_in_part() -> None:
    trials = [trial(f"c{number}", FAILED, row=row(3)) for number in range(7)]
    assert why(trials) == ["regressed: c0, c1, c2, c3, c4 and 2 more"]
