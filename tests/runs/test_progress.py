"""How far a run is: cases and not trials, and an estimate only where the pace says something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.pace import FEW
from pytest_recall.replay.exchange import Call
from pytest_recall.runs.progress import progress
from pytest_recall.trials.cost import Bill
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, case_ids, outcomes, trial, unhurried

trials = st.lists(
    st.builds(
        lambda case_id, outcome, repeat, cost: trial(
            case_id,
            outcome,
            repeat=repeat,
            rule="fail 2of3" if case_id < "d" else "",
            calls=(Call("agent", "live", cost=cost),),
        ),
        case_ids,
        outcomes,
        st.integers(1, 3),
        st.none() | st.floats(0, 1),
    ),
    max_size=12,
)


def series(case_id: str, *ends: str) -> list[Trial]:
    """Return the trials of a case whose fails are confirmed, by the letters of their outcomes."""
    kinds = {"p": PASSED, "f": FAILED, "e": ERROR}
    return [trial(case_id, kinds[end], repeat=number, rule="fail 2of3") for number, end in enumerate(ends, 1)]


def test_before_the_first_case() -> None:
    assert progress([], ["a", "b"], 60.0) == (0, 0, 0, 2, Bill(), None)


def test_what_each_case_came_to() -> None:
    found = progress(
        [trial("a"), trial("b", FAILED), trial("c", ERROR), trial("d", SKIPPED)], ["a", "b", "c", "d", "e", "f"], 60.0
    )
    assert found == (4, 1, 2, 6, Bill(), 30.0)


def test_the_last_attempt_counts() -> None:
    found = progress([trial("a", FAILED), trial("a")], ["a"], 60.0)
    assert (found.done, found.failed) == (1, 0)


@pytest.mark.parametrize(
    ("ends", "done", "failed", "unjudged"),
    [("p", 1, 0, 0), ("f", 0, 0, 0), ("fp", 0, 0, 0), ("ff", 1, 1, 0), ("fpp", 1, 0, 0), ("fep", 1, 0, 1)],
)
def test_a_case_is_done_when_its_series_is_decided(ends: str, done: int, failed: int, unjudged: int) -> None:
    found = progress(series("a", *ends), ["a"], 60.0)
    assert (found.done, found.failed, found.unjudged) == (done, failed, unjudged)


def test_a_case_that_nobody_expected_makes_the_total_unknown() -> None:
    found = progress([trial(name) for name in "abcd"], ["a", "b", "c"], 60.0)
    assert (found.done, found.total, found.left) == (4, None, None)


def test_calls_of_every_trial_are_paid_for() -> None:
    paid, unknown, replayed = (
        Call("agent", "live", cost=0.25),
        Call("agent", "live"),
        Call("agent", "replayed", cost=1.0),
    )
    found = progress([trial("a", FAILED, calls=(paid, unknown)), trial("a", calls=(paid, replayed))], ["a"], 60.0)
    assert found.spent == Bill(3, 0.5, 1)


def test_a_few_cases_make_no_pace() -> None:
    names = [str(number) for number in range(10)]
    assert progress([trial(name) for name in names[: FEW - 1]], names, 60.0).left is None
    assert progress([trial(name) for name in names[:FEW]], names, 60.0).left == 140.0


@unhurried
@given(trials, st.sets(case_ids, max_size=8), st.floats(0, 1e6))
def test_the_counts_fit_together(some: list[Trial], more: set[str], seconds: float) -> None:
    expected = more | {one.case_id for one in some}
    found = progress(some, expected, seconds)
    assert 0 <= found.failed + found.unjudged <= found.done <= len(graded(some)) <= len(expected)
    assert found.total == len(expected)
    assert found.spent.calls == len(some)
    if found.left is not None:
        assert found.left >= 0
        assert FEW <= found.done < found.total


@unhurried
@given(trials, st.floats(0, 1e6))
def test_how_many_there_are_is_known_or_left_out(some: list[Trial], seconds: float) -> None:
    names = sorted({one.case_id for one in some})
    found = progress(some, names[1:], seconds)
    assert found.total == (None if names else 0)
    assert found.left is None
