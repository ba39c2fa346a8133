"""Review trials: move the row of a case between the Leitner boxes, and set when it is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from pytest_recall.cases.settings_fields import QUARANTINE_DAYS, Quarantine
from pytest_recall.files.wording import one_line
from pytest_recall.models.reply_names import is_asked_for
from pytest_recall.trials.detector import CaseLikelihood
from pytest_recall.trials.record import Header
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import BOXES, Outcome, Row, Trial, WeighedTrials

INTERVALS: Mapping[int, int] = {1: 1, 2: 3, 3: 7, 4: 14, 5: 30}
"""Days from a test to the next, by box (Leitner 1972, with the published day counts)."""
LAST_BOX = BOXES[-1]
DATASET, PROFILE = "dataset", "profile"
"""The reasons of a question of a dataset, and of a profile's persona."""
UNSCHEDULED = (DATASET, PROFILE)
"""Reasons of what is asked in each run over its file, in no other, and has no row."""
AFFECTED, REJUDGED, RECORDED = "affected", "judged again", "recorded answer"
"""The reasons of a case that a change affects: it is asked, only judged again, or a recorded answer decides."""
LIVE = "live check"
"""The reason of a case that is asked since the code of the replay changed, though no request did."""
OF_CHANGE = (AFFECTED, REJUDGED, RECORDED, LIVE)
"""Reasons of verdicts that are of the change; all others tell of what lies behind requests that it left alone."""
BY_VERDICTS = (
    *("box", "pass_streak", "last_tested", "next_due"),
    *("last_pr", "last_model", "failure_note", "failure_pr"),
)
"""The fields of a row that every verdict sets."""
SETTLED_BOX = 4
"""The box at which a case leaves quarantine: by then it has passed on three days in a row."""
REDEEMING = 5
"""So many passes in a row take one lapse back: a few lapses in years are no flake."""


def review(row: Row | None, trial: Trial, today: date, quarantine: Quarantine | None = None) -> Row | None:
    """Return the row after `trial`; None stays None where there was no verdict.

    A case enters box 1 at its first verdict. From then on a pass moves a row up one box
    if it was due or in box 1; an early pass only refreshes the date; a fail always sends
    the case back to box 1. Nothing leaves the last box, so nothing graduates. A verdict
    that is older than the row's, of a run that was applied late, is no news, and neither is
    one on a replayed answer. A question of a dataset is on no schedule.

    A fail that is not confirmed moves no box; the row keeps what it says.

    A fail out of a higher box is a lapse, and `REDEEMING` passes in a row take one back. A case that lapses time
    and again is flaky: from the lapse that `quarantine` names it is set apart, until it reaches `SETTLED_BOX`, or
    its days are over; then it is counted like any other again. (Anki calls such a card a leech.)
    """
    if not trial.outcome.is_verdict or not trial.counts_for_schedule or trial.reason in UNSCHEDULED:
        return row
    if row is not None and row.last_tested > today:
        return row
    row = row and released(row, today)
    if row is not None and trial.weighed is not None:
        row = weighed(row, trial.weighed)
    if trial.is_doubted:
        return row
    if trial.outcome is Outcome.FAILED:
        failed = _placed(1, 0, row, trial, today)._replace(
            failure_note=one_line(trial.note) or "failed",
            failure_pr=trial.pr,
            passed_under=None if row is None else row.passed_under,
            evidence=1.0,
        )
        if row is None or row.box == 1:
            return failed
        failed = failed._replace(lapses=failed.lapses + 1)
        if quarantine is None or failed.lapses < quarantine.after or failed.quarantined:
            return failed
        until = today + timedelta(days=QUARANTINE_DAYS)
        return failed._replace(quarantined=today, until=until, owner=quarantine.owner)
    if row is None:
        fresh = _placed(1, 1, row, trial, today)
        return fresh if trial.weighed is None else weighed(fresh, trial.weighed)
    if row.box == 1 or row.is_due(today):
        moved = _placed(min(row.box + 1, LAST_BOX), row.pass_streak + 1, row, trial, today)
        if moved.quarantined and moved.box >= SETTLED_BOX:
            return _taken_back(moved)
        redeemed = moved.lapses and moved.pass_streak % REDEEMING == 0
        return moved._replace(lapses=moved.lapses - 1) if redeemed else moved
    under = _passed_under(row, trial)
    return row._replace(last_tested=today, last_pr=trial.pr, last_model=trial.model, passed_under=under)


def weighed(row: Row, trials: WeighedTrials) -> Row:
    """Return the row with what these trials say; those of a case that is known to fail say nothing of its own rate."""
    if row.failing:
        return row
    known = CaseLikelihood.of(row).after(trials.passes, trials.needed)
    return row._replace(**known.fields)


def released(row: Row, today: date) -> Row:
    """Return the row without a quarantine that has ended: a fail of it blocks again."""
    if row.quarantined is None or today <= (row.until or row.quarantined + timedelta(days=QUARANTINE_DAYS)):
        return row
    return _taken_back(row)


def _taken_back(row: Row) -> Row:
    return row._replace(lapses=0, quarantined=None, until=None, owner=None)


def _placed(box: int, streak: int, row: Row | None, trial: Trial, today: date) -> Row:
    due = today + timedelta(days=INTERVALS[box])
    fresh = Row(box, streak, today, due, trial.pr, trial.model, passed_under=_passed_under(row, trial))
    if row is None:
        return fresh
    return fresh._replace(
        lapses=row.lapses,
        quarantined=row.quarantined,
        until=row.until,
        owner=row.owner,
        extra=row.extra,
        touched=row.touched,
        accepted=row.accepted,
        evidence=row.evidence,
        failed=row.failed,
        tried=row.tried,
    )


def _passed_under(row: Row | None, trial: Trial) -> str | None:
    """Return what the last pass was given under, after a pass.

    Of a pass in a pull request that touches the case, or after others that did, it is that of the pass before: the
    suspects are counted from there, and the pass may have been luck.
    """
    if row is not None and row.passed_under and trial.pr and (row.touched or trial.reason in (AFFECTED, REJUDGED)):
        return row.passed_under
    return trial.under or None


def fold(
    rows: Mapping[str, Row], trials: Iterable[Trial], today: date, quarantine: Quarantine | None = None
) -> dict[str, Row]:
    """Return the rows that `trials` change, by case id; the last trial grades each case, or all of its series."""
    changed: dict[str, Row] = {}
    for case_id, trial in graded(trials).items():
        before = rows.get(case_id)
        after = review(before, trial, today, quarantine)
        if after is not None and after != before:
            changed[case_id] = after
    return changed


def swapped(rows: Mapping[str, Row], model: str | None) -> list[str]:
    """Return the cases whose last verdict was under another model than the one that `model` asks for."""
    if model is None:
        return []
    return [case_id for case_id, row in rows.items() if row.last_model and not is_asked_for(model, row.last_model)]


def reset(rows: Mapping[str, Row], model: str | None, today: date) -> dict[str, Row]:
    """Return the rows of `swapped` cases, back in box 1 and due today.

    `last_model` stays as it was: it shows that the case still has to be seen
    under the new model, so that asking twice resets nothing that has been retested.
    """
    again: dict[str, Row] = {}
    for case_id in swapped(rows, model):
        row = rows[case_id]
        if (row.box, row.pass_streak) != (1, 0):
            again[case_id] = back_in_box_1(row, today)
    return again


def back_in_box_1(row: Row, today: date) -> Row:
    """Return the row after a reset: nothing of its last verdict is forgotten."""
    return row._replace(box=1, pass_streak=0, next_due=min(today, row.next_due))


def quarantine_of(header: Header) -> Quarantine | None:
    """Return when a run sets a case apart, or None if it never does."""
    return None if header.lapses is None else Quarantine(header.lapses, header.owner or "no owner")
