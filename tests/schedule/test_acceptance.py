"""Acceptance: a failed answer counts as a first pass of its day, and the fail is taken back."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.acceptance import acceptance
from pytest_recall.schedule.boxes import released, review
from pytest_recall.schedule.events import Event, Events, fold_events
from pytest_recall.trials.conditions import Conditions
from pytest_recall.trials.trial import Row, Trial
from tests.helpers.samples import FAILED, PASSED, TODAY, days, header, row, rows, trial, unhurried

NOTE = "2026-03-11 Ana"
FINGERPRINT = "0123456789ab"
COMMIT = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"


def fell(before: Row | None, quarantine: Quarantine | None = None) -> tuple[Trial, Row]:
    """Return a fail, and the row after it."""
    one = trial("a", FAILED, row=before, pr="7", model="m", under="case=ffffff model=m judge=aaaaaa")
    after = review(before, one, TODAY, quarantine)
    assert after is not None
    return one, after


def accepted(known: Row | None, one: Trial, **more: object) -> Row:
    """Return the row after the acceptance."""
    event = acceptance(one, header(**{"pr": "7", **more}), FINGERPRINT, NOTE)
    found = fold_events({} if known is None else {"a": known}, {"e": Events("2", TODAY, "accepted", verdicts=(event,))})
    return found.get("a", known)  # type: ignore[return-value]


def test_it_enters_box_1_and_the_lapse_is_taken_back() -> None:
    before = row(4, 4, lapses=2, touched=("12",), extra=", note: x")
    one, after = fell(before)
    assert (after.box, after.lapses, after.failing) == (1, 3, True)
    assert accepted(after, one) == Row(
        *(1, 1, TODAY, TODAY + days(1), "7", "m"),
        lapses=2,
        extra=", note: x",
        passed_under="case=012345 model=m judge=aaaaaa",
        touched=("12",),
        accepted=NOTE,
    )


def test_a_quarantine_that_the_fail_has_led_to_is_taken_back_and_no_other() -> None:
    one, after = fell(row(3, 3, lapses=3), Quarantine(4, "ana"))
    assert after.quarantined == TODAY
    assert accepted(after, one).quarantined is None
    long = row(3, 3, lapses=4, quarantined=TODAY - days(3), until=TODAY + days(9), owner="bo")
    one, after = fell(long, Quarantine(4, "ana"))
    kept = accepted(after, one)
    assert (kept.quarantined, kept.until, kept.owner, kept.lapses) == (TODAY - days(3), TODAY + days(9), "bo", 4)


def test_on_the_main_branch_it_clears_what_the_run_knew_of() -> None:
    one, after = fell(row(4, 4, touched=("12",)))
    after = after._replace(touched=("12", COMMIT[:12], "15"))
    about = {"commit": COMMIT, "base": "3b1f09c2aa41", "commits": 1, "uncommitted": ""}
    assert accepted(after, one, pr=None, **about).touched == ("15",)
    assert accepted(after, one).touched == ("12", COMMIT[:12], "15")


def test_a_case_without_a_row_gets_one() -> None:
    one, _ = fell(None)
    assert accepted(None, one) == Row(
        *(1, 1, TODAY, TODAY + days(1), "7", "m"), passed_under="case=012345 model=m judge=aaaaaa", accepted=NOTE
    )


def test_what_is_older_than_the_verdict_is_no_news() -> None:
    one, _ = fell(row(4, 4))
    newer = row(2, 2, tested=TODAY + days(1))
    assert accepted(newer, one) == newer


@unhurried
@example(row(1, 0, lapses=1, quarantined=TODAY - days(30)), False)  # The quarantine ends with this day.
@given(rows(), st.booleans())
def test_a_later_verdict_goes_on_from_there(before: Row, passes: bool) -> None:
    before = before._replace(last_tested=min(before.last_tested, TODAY - days(1)))
    one, after = fell(before)
    found = accepted(after, one)
    assert (found.box, found.pass_streak, found.failing, found.last_tested) == (1, 1, False, TODAY)
    assert Conditions.parse(found.passed_under).case == ("012345",)
    later = review(found, trial("a", PASSED if passes else FAILED), TODAY + days(1))
    assert later is not None
    assert (later.box, later.accepted) == (2 if passes else 1, NOTE)
    assert later.lapses == released(found, TODAY + days(1)).lapses


def test_an_accepted_answer_comes_behind_the_run_in_event_files() -> None:
    before = row(4, 4)
    one, _ = fell(before)
    failed = Events("2026-03-10T120000", TODAY, "pr7", verdicts=(Event("a", FAILED, "no", "due", "7", "m"),))
    event = acceptance(one, header(pr="7"), FINGERPRINT, NOTE)
    taken = Events("2026-03-10T120000.5", TODAY, "accepted", verdicts=(event,))
    for names in (("x", "y"), ("y", "x")):
        found = fold_events({"a": before}, dict(zip(names, (failed, taken), strict=True)))["a"]
        assert (found.box, found.failing, found.lapses) == (1, False, 0)
