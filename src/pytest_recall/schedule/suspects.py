"""Keep for each case which changes have touched it since its last pass on the main branch, without a call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_recall.schedule.boxes import UNSCHEDULED
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome, Row, Trial

MOST = 8
"""Changes that a row keeps: a case that more have touched is not explained by a list of them."""
COMMIT_DIGITS = 12
"""Digits of a commit in a row. No pull request has a number of so many, so that the two are told apart."""
UNCOMMITTED = "uncommitted"
"""What the edits of a checkout that are in no commit are called among suspects; they are in no row."""
_SPAN = ".."
"""Stands between the first commit that a change does not have and its last one, as in a range of git."""


class Touches(NamedTuple):
    """What one run adds to the suspects."""

    change: str = ""
    """What the run was of, as `change_of` names it; empty where that is not known."""
    affected: tuple[str, ...] = ()
    """The cases that the change touched."""
    cleared: Mapping[str, tuple[str, ...]] = {}
    """The changes that the run knew of, by the case that passed on the main branch. What was merged later, or was in no
    file yet, was not tested by it."""

    def __bool__(self) -> bool:
        return bool(self.affected or self.cleared)


def change_of(header: Header) -> str:
    """Return the change that a run was of: its pull request, or the commits since its base without one.

    Several commits are named as git does it, such as `3b1f09c2aa41..9f86d081884c`. Empty where a commit cannot be
    named: edits were not committed, or nothing says where the change begins.
    """
    if header.pr:
        return header.pr
    if header.uncommitted != "" or not header.base or not header.commits:
        return ""
    head = header.commit[:COMMIT_DIGITS]
    return head if header.commits == 1 else f"{header.base[:COMMIT_DIGITS]}{_SPAN}{head}"


def last_commit(change: str) -> str:
    """Return the last commit of a change that is no pull request."""
    return change.rpartition(_SPAN)[2]


def touches_of(header: Header, grading: Mapping[str, Trial], *, first: bool = True) -> Touches:
    """Return what a run adds, from the trials that grade its cases; the `first` fold of a run adds its change.

    A later one adds it only to a case that had no row when the run began: the first fold found none to write it into.
    A pass in a pull request clears nothing: it was not given on what other pull requests have merged meanwhile. One on
    a replayed answer clears nothing either.
    """
    change = change_of(header)
    affected = header.affected if change else ()
    if not first:
        affected = tuple(one for one in affected if one in grading and grading[one].row is None)
    if header.pr is not None:
        return Touches(change, affected)
    passed = {case_id: trial for case_id, trial in grading.items() if _passed(trial)}
    known = {case_id: () if trial.row is None else trial.row.touched for case_id, trial in passed.items()}
    cleared = {case_id: touched for case_id, touched in known.items() if touched}
    # The commit of a run on the main branch is tested by that run.
    return Touches(change, tuple(case_id for case_id in affected if case_id not in passed), cleared)


def _passed(trial: Trial) -> bool:
    return trial.outcome is Outcome.PASSED and trial.counts_for_schedule and trial.reason not in UNSCHEDULED


def with_touches(rows: Mapping[str, Row], touches: Touches) -> dict[str, Row]:
    """Return the rows that `touches` change, by case id: their suspects, and nothing else of them.

    A case without a row has none: it has never passed.
    """
    changed: dict[str, Row] = {}
    for case_id in {**dict.fromkeys(touches.affected), **touches.cleared}:
        row = rows.get(case_id)
        if row is None:
            continue
        touched = without(row.touched, touches.cleared.get(case_id, ()))
        if case_id in touches.affected:
            touched = added(touched, touches.change)
        if touched != row.touched:
            changed[case_id] = row._replace(touched=touched)
    return changed


def added(touched: Sequence[str], change: str) -> tuple[str, ...]:
    """Return the suspects with `change` as the newest, once."""
    return (*without(touched, (change,)), change)[-MOST:]


def without(touched: Sequence[str], cleared: Collection[str]) -> tuple[str, ...]:
    """Return the suspects that are not `cleared`, in their order."""
    return tuple(one for one in touched if one not in cleared)


def joined(earlier: Iterable[str], later: Iterable[str]) -> tuple[str, ...]:
    """Return the suspects of a case that was two, the newest of them last."""
    return tuple(dict.fromkeys((*earlier, *later)))[-MOST:]


def is_pull_request(change: str) -> bool:
    """Whether a change is the number of a pull request."""
    return change.isascii() and change.isdigit() and len(change) < COMMIT_DIGITS


def suspects(trial: Trial, header: Header) -> tuple[str, ...] | None:
    """Return what may have broken a case that failed in a run: what its row names, and the change of the run.

    Of what its row names only what is in the history of the run's commit. None where that leaves nothing, and it is not
    known that nothing has touched the case.
    """
    named_by_row = () if trial.row is None else trial.row.touched
    touched = tuple(change for change in named_by_row if change in header.in_history)
    complete = touched == named_by_row
    if trial.case_id in header.affected:
        own = (change_of(header), UNCOMMITTED if header.uncommitted else "")
        complete = complete and any(own)
        for change in filter(None, own):
            touched = added(touched, change)
    return touched if touched or complete else None


def named(touched: Sequence[str]) -> str:
    """Return suspects as messages name them, such as "#12, #15"."""
    return ", ".join(map(_shown, touched))


def _shown(change: str) -> str:
    if change == UNCOMMITTED:
        return "your uncommitted changes"
    return f"#{change}" if is_pull_request(change) else change
