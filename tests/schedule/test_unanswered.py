"""Cases that come to no verdict: counted by days, forgotten at a verdict, and the same on both sides of a merge."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.boxes import DATASET
from pytest_recall.schedule.selection import Unanswered, merged_unanswered, unanswered_after, with_changes
from pytest_recall.trials.trial import Outcome
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, TODAY, case_ids, dates, days, trial

waiting = st.dictionaries(case_ids, st.builds(Unanswered, dates, st.integers(1, 6)), max_size=8)


def after(before: Mapping[str, Unanswered], outcome: Outcome, on: int = 0, **more: object) -> dict[str, Unanswered]:
    """Return what is left after a trial of the case `a`."""
    graded = {"a": trial("a", outcome, **more)}
    return with_changes(before, unanswered_after(before, graded, TODAY + days(on)))


def test_days_are_counted_and_not_runs() -> None:
    once = after({}, ERROR)
    assert once == {"a": Unanswered(TODAY, 1)}
    assert after(once, SKIPPED) == once
    assert after(once, SKIPPED, on=3) == {"a": Unanswered(TODAY + days(3), 2)}


def test_a_verdict_ends_it() -> None:
    before = {"a": Unanswered(TODAY, 3)}
    assert after(before, PASSED) == after(before, FAILED, on=2) == {}


def test_what_asks_nothing_counts_for_nothing() -> None:
    before = {"a": Unanswered(TODAY, 3)}
    assert after(before, PASSED, on=1, counts_for_schedule=False) == before
    assert after({}, ERROR, source="replayed") == {}
    assert after({}, ERROR, reason=DATASET) == {}
    assert after(before, PASSED, on=-1) == before


def test_a_merge_knows_the_verdicts_of_both_sides() -> None:
    base = {"a": Unanswered(TODAY, 2), "b": Unanswered(TODAY, 2)}
    later = Unanswered(TODAY + days(1), 3)
    assert merged_unanswered(base, {"a": later}, {"b": later, "c": later}) == {"c": later}
    assert merged_unanswered(base, base, {"a": later, "b": base["b"]}) == {"a": later, "b": base["b"]}


@given(waiting, waiting, waiting)
def test_the_sides_may_be_swapped(
    base: dict[str, Unanswered], ours: dict[str, Unanswered], theirs: dict[str, Unanswered]
) -> None:
    assert merged_unanswered(base, ours, theirs) == merged_unanswered(base, theirs, ours)
    assert merged_unanswered(base, ours, ours) == ours
