"""How old the verdicts are after a run: of those that were chosen, and of those that were left out."""

from __future__ import annotations

from pytest_recall.schedule.forecast import Freshness, freshness, left_out
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, PASSED, TODAY, days, header, row, trial

OLD = row(3, tested=TODAY - days(20), due=TODAY - days(13))
YOUNG = row(3, tested=TODAY - days(2), due=TODAY + days(5))


def test_what_is_left_out() -> None:
    rows = {"old": OLD, "young": YOUNG, "stuck": OLD}
    found = left_out(["old", "young", "stuck", "new"], rows, {"stuck": Unanswered(TODAY, 2)}, TODAY)
    assert found == (TODAY - days(20), "old", 1)
    assert left_out(["new"], rows, {}, TODAY) == (None, "", 0)


def after(*trials: Trial, not_run: int = 0, **more: object) -> Freshness | None:
    """Return what is known after these trials of a run that left `young` out."""
    facts = {"oldest": (TODAY - days(2)).isoformat(), "oldest_case": "young", "overdue": 0, **more}
    return freshness(header(**facts), {one.case_id: one for one in trials}, not_run)


def test_a_verdict_is_of_today_and_an_error_leaves_the_one_before() -> None:
    assert after(trial("a", PASSED, row=OLD)) == (TODAY - days(2), "young", 2, 0, {}, False)
    found = after(trial("a", ERROR, row=OLD), trial("b", row=None), not_run=1)
    assert found == (TODAY - days(20), "a", 20, 1, {"a": Unanswered(TODAY)}, True)
    # A replayed answer is no evidence, and of no age.
    replayed = after(trial("a", PASSED, row=OLD, counts_for_schedule=False, source="replayed"))
    assert replayed is not None
    assert (replayed.age, replayed.overdue) == (20, 1)


def test_what_rests_is_not_overdue() -> None:
    before = (("a", (TODAY - days(9)).isoformat(), 3),)
    found = after(trial("a", ERROR, row=OLD), unanswered=before)
    assert found is not None
    assert (found.overdue, found.unanswered) == (0, {"a": Unanswered(TODAY, 4)})


def test_nothing_is_known_of_a_run_of_an_earlier_version() -> None:
    assert freshness(header(), {}, 0) is None
    assert after(trial("a"), scheduled=False) is None
    nothing = after(oldest="", oldest_case="")
    assert nothing is not None
    assert nothing.age is None
