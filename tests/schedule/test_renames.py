"""A case that has another id now: which one that is, and what its row goes on with."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.renames import continued, moved
from pytest_recall.trials.detector import MOST_RATIO
from pytest_recall.trials.trial import Row
from tests.helpers.samples import FAILED, PASSED, TODAY, days, failing, row, rows, trial, unhurried

PRINT = "0a1b2c"


@pytest.mark.parametrize("passed", [True, False])
def test_the_verdict_under_the_new_id_counts_on_top_of_the_history(passed: bool) -> None:
    old = row(3, 3)
    new = row(tested=TODAY, last_pr="7") if passed else failing(tested=TODAY, last_pr="7", failure_pr="7")
    verdict = trial("", PASSED if passed else FAILED, pr="7")
    found = continued(old, new)
    expected = review(old, verdict, TODAY)
    assert expected is not None
    assert (found.box, found.pass_streak, found.last_tested, found.lapses) == (*expected[:3], expected.lapses)
    assert found.last_pr == "7"


def test_without_a_verdict_under_the_new_id_the_old_row_stays() -> None:
    old = row(3, 3, tested=TODAY)
    assert continued(old, None) == old
    assert continued(old, row(tested=TODAY - days(1))) == old


def test_evidence_of_both_ids_multiplies_and_their_trials_add_up() -> None:
    found = continued(row(2, 2, evidence=2.0, failed=1, tried=10), row(tested=TODAY, evidence=10.0, failed=1, tried=4))
    assert (found.evidence, found.failed, found.tried) == (20.0, 2, 14)
    most = continued(row(2, 2, evidence=MOST_RATIO), row(tested=TODAY, evidence=MOST_RATIO))
    assert most.evidence == MOST_RATIO
    # What is known to fail has nothing left to confirm.
    assert continued(row(2, 2, evidence=2.0), failing(tested=TODAY, evidence=10.0)).evidence == 1


@unhurried
@given(rows(), rows())
def test_no_verdict_and_no_trial_of_either_id_is_lost(old: Row, new: Row) -> None:
    assume(old.box == 1 or not old.failing)  # What fails is in box 1.
    found = continued(old, new)
    assert found.last_tested == max(old.last_tested, new.last_tested)
    if new.last_tested >= old.last_tested:
        assert found.failing == new.failing
        assert (found.failed, found.tried) == (old.failed + new.failed, old.tried + new.tried)
    else:
        assert found == old


def test_a_case_is_found_by_the_fingerprint_of_its_last_pass() -> None:
    known = {"a": row(passed_under=f"case={PRINT} model=m"), "b": row(), "c": row(passed_under="case=ffffff")}
    assert moved(known, ["a", "b", "c"], {"new": f"{PRINT}999", "other": "123456", "none": ""}) == [("a", "new")]


@pytest.mark.parametrize("copies", [("a", "b"), ("a",)])
def test_copies_are_told_of_no_case(copies: tuple[str, ...]) -> None:
    known = {case_id: row(passed_under=f"case={PRINT}") for case_id in copies}
    new = {"x": PRINT} if len(copies) > 1 else {"x": PRINT, "y": PRINT}
    assert moved(known, copies, new) == []
