"""Define the events that one run adds to the state, and fold the events of many runs into rows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.wording import one_line
from pytest_recall.schedule.boxes import INTERVALS, OF_CHANGE, UNSCHEDULED, fold, quarantine_of, reset
from pytest_recall.schedule.selection import Unanswered, unanswered_after, with_changes
from pytest_recall.schedule.suspects import Touches, touches_of, with_touches
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import EarlierRun, Outcome, Row, Trial, WeighedTrials


class Event(NamedTuple):
    """A verdict on a case."""

    case_id: str
    outcome: Outcome
    note: str = ""
    """Why it failed."""
    reason: str = ""
    """Why it was run."""
    pr: str | None = None
    model: str | None = None
    under: str = ""
    """What the verdict was given under."""
    cleared: tuple[str, ...] = ()
    """The changes that a pass on the main branch has cleared of suspicion."""
    accepted: str = ""
    """Who has taken a failed answer for the one that is expected, and when."""
    lapses: int | None = None
    """How many lapses an accepted answer leaves the case with."""
    weighed: str = ""
    """With `confirm: evidence`, a letter for each trial, p or f, in their order."""
    needed: int = 0
    """With `confirm: evidence`, what a fail needs."""
    unconfirmed: bool = False
    """With `confirm: evidence`, whether the trials began with a fail and do not come to one."""
    run: str = ""
    """The run that asked, of a verdict that another run tells of again, since it holds there."""
    earlier: EarlierRun | None = None
    """What is known of that trial where the runs of a pull request are read; it is in no file."""

    def trial(self, source: str = "live") -> Trial:
        """Return the trial that the schedule is shown."""
        passes = tuple(letter == "p" for letter in self.weighed)
        return assumed_trial(
            self.case_id,
            self.outcome,
            self.note,
            reason=self.reason,
            pr=self.pr,
            model=self.model,
            under=self.under,
            weighed=WeighedTrials(passes, self.needed, self.unconfirmed) if passes else None,
            source=source,
            earlier=self.earlier,
        )


class Apart(NamedTuple):
    """A case that was set apart by hand, or taken back."""

    case_id: str
    since: date | None
    """The first day; None for a case that was taken back."""
    until: date | None = None
    """The last day; None for a case that was taken back."""
    owner: str | None = None


class Events(NamedTuple):
    """What one run, or one command, has added to the state."""

    run: str
    date: date
    who: str
    trials: int = 0
    """How many trials of the run's journal are in it."""
    model: str | None = None
    reset: bool = False
    """Whether the cases of another model than `model` go back to box 1 first."""
    quarantine: Quarantine | None = None
    verdicts: tuple[Event, ...] = ()
    apart: tuple[Apart, ...] = ()
    unanswered: tuple[str, ...] = ()
    """The cases that came to no verdict. With `waived`, those that were not evaluated and without whose verdict
    somebody let a change pass."""
    change: str = ""
    affected: tuple[str, ...] = ()
    """The cases that the `change` of the run touched."""
    commit: str = ""
    """What was checked out; empty where that is not known."""
    waived: str = ""
    """Who let a change pass without the verdicts of `unanswered`, and which change; else empty."""
    behind: tuple[tuple[str, str], ...] = ()
    """Cases of the default branch that ask something else than recorded, each with the key of the first request that is
    missing; that is empty for one that is no longer behind."""

    @property
    def says_anything(self) -> bool:
        """Whether it changes a state."""
        return bool(self.verdicts or self.reset or self.unanswered or self.affected or self.behind)

    @property
    def about(self) -> set[str]:
        """The cases that it tells of."""
        judged, apart = (one.case_id for one in self.verdicts), (one.case_id for one in self.apart)
        return {*judged, *apart, *self.unanswered, *self.affected, *dict(self.behind)}


def events_of(header: Header, trials: Iterable[Trial], count: int, *, first: bool = True) -> Events:
    """Return the events of a run from those of its `trials` that are news, of `count` in its journal.

    Only the `first` events of a run reset what a swap of the model asks for.
    """
    grading = graded(trials)
    today = date.fromisoformat(header.date)
    touches = touches_of(header, grading, first=first)
    return Events(
        run=header.run,
        date=today,
        who=f"pr{header.pr}" if header.pr else header.mode,
        trials=count,
        model=header.model,
        reset=header.reset and first,
        quarantine=quarantine_of(header),
        verdicts=tuple(
            Event(
                case_id,
                trial.outcome,
                one_line(trial.note),
                trial.reason,
                trial.pr,
                trial.model,
                _under(trial),
                touches.cleared.get(case_id, ()),
                run="" if trial.earlier is None else trial.earlier.run,
                **_weighed(trial),
            )
            for case_id, trial in grading.items()
            if trial.outcome.is_verdict and trial.counts_for_schedule and trial.reason not in UNSCHEDULED
        ),
        unanswered=tuple(case_id for case_id, one in unanswered_after({}, grading, today).items() if one),
        change=touches.change if touches.affected else "",
        affected=touches.affected,
        commit=header.commit,
        behind=_behind(header, grading, first=first),
    )


def _behind(header: Header, grading: Mapping[str, Trial], *, first: bool) -> tuple[tuple[str, str], ...]:
    """Return which cases are behind on the default branch after its run, as far as that is news.

    One that came to a verdict is recorded. The `first` events of a run tell of all others.
    """
    found = []
    for case_id, before, request in header.missing:
        trial = grading.get(case_id)
        recorded = trial is not None and trial.outcome.is_verdict
        if recorded and (before or not first):
            found.append((case_id, ""))
        elif not recorded and first and request != before:
            found.append((case_id, request))
    return tuple(found)


def waiver_of(record: Record) -> Events | None:
    """Return what the waiver of a run adds to the state, which its own events do not; None without one."""
    header, waiver = record.header, record.waiver
    if waiver is None:
        return None
    return Events(
        run=header.run,
        date=date.fromisoformat(header.date),
        who="waiver",
        unanswered=waiver.cases,
        commit=header.commit,
        waived=f"{waiver.by} for #{header.pr}",
    )


def _weighed(trial: Trial) -> dict[str, Any]:
    """Return what an event has of the trials that a verdict by the likelihood ratio rests on."""
    if (found := trial.weighed) is None:
        return {}
    return {
        "weighed": "".join("p" if passed else "f" for passed in found.passes),
        "needed": found.needed,
        "unconfirmed": found.unconfirmed,
    }


def _under(trial: Trial) -> str:
    """Return what a pass was given under; that of a fail goes into no row."""
    return trial.under if trial.outcome is Outcome.PASSED else ""


def fold_events(rows: Mapping[str, Row], events: Mapping[str, Events]) -> dict[str, Row]:
    """Return the rows that `events`, by name, change: in the order of their days, runs and the trials of each run.

    A verdict that is older than its row is no news, as in any fold.
    """
    changed: dict[str, Row] = {}
    for name in in_order(events):
        one = events[name]
        if one.reset:
            changed.update(reset({**rows, **changed}, one.model, one.date))
        about = {event.case_id for event in one.verdicts} | {apart.case_id for apart in one.apart} | set(one.affected)
        known = {case_id: row for case_id in about if (row := changed.get(case_id, rows.get(case_id))) is not None}
        told = [event.trial() for event in one.verdicts if not event.accepted]
        changed.update(fold(known, told, one.date, one.quarantine))
        accepted = (event for event in one.verdicts if event.accepted)
        changed.update({event.case_id: _accepted(known.get(event.case_id), event, one.date) for event in accepted})
        cleared = {event.case_id: event.cleared for event in one.verdicts if event.cleared}
        changed.update(with_touches({**known, **changed}, Touches(one.change, one.affected, cleared)))
        for apart in one.apart:
            if (row := changed.get(apart.case_id, rows.get(apart.case_id))) is not None:
                lapses = row.lapses if apart.since else 0
                changed[apart.case_id] = row._replace(
                    lapses=lapses, quarantined=apart.since, until=apart.until, owner=apart.owner
                )
    return {case_id: row for case_id, row in changed.items() if rows.get(case_id) != row}


def _accepted(row: Row | None, event: Event, day: date) -> Row:
    """Return the row of a case whose answer was accepted: it enters box 1, as with a first verdict.

    What it expects is another thing now, so that its streak says nothing of it. The fail is taken back, with the
    quarantine that it has led to. An answer that is older than the row's verdict is no news.
    """
    if row is not None and row.last_tested > day:
        return row
    fresh = Row(1, 1, day, day + timedelta(days=INTERVALS[1]), event.pr, event.model, lapses=event.lapses or 0)
    fresh = fresh._replace(passed_under=event.under or None, accepted=event.accepted)
    if row is None:
        return fresh
    fresh = fresh._replace(touched=row.touched, extra=row.extra)
    if row.quarantined == day and row.lapses > fresh.lapses:
        return fresh
    return fresh._replace(quarantined=row.quarantined, until=row.until, owner=row.owner)


def fold_unanswered(before: Mapping[str, Unanswered], events: Mapping[str, Events]) -> dict[str, Unanswered]:
    """Return the cases without a verdict after `events`, by name."""
    found = dict(before)
    for name in in_order(events):
        one = events[name]
        told = {event.case_id: event.trial() for event in one.verdicts}
        if not one.waived:
            told |= {case_id: assumed_trial(case_id, Outcome.ERROR) for case_id in one.unanswered}
        found = with_changes(found, unanswered_after(found, told, one.date))
        if one.waived:
            asked = {case_id: found.get(case_id, Unanswered(one.date, 0)) for case_id in one.unanswered}
            found |= {case_id: known._replace(waived=one.waived) for case_id, known in asked.items()}
    return found


def verdicts_that_hold(
    events: Mapping[str, Events], commit: str, today: date | None, affected: Container[str]
) -> dict[str, Event]:
    """Return the verdicts of earlier runs of a pull request, by case, that hold: such a case is not asked again.

    Those on the same `commit` do, so that a job that runs again brings no second draw. So do those of `today` on cases
    that the change does not affect, which are asked once a day; None where these decide, and so are asked at each push.
    A fail that is not confirmed is no verdict that holds.
    """
    found: dict[str, Event] = {}
    for name in in_order(events):
        one = events[name]
        for event in one.verdicts:
            of_commit = bool(commit) and one.commit == commit
            of_day = one.date == today and event.reason not in OF_CHANGE and event.case_id not in affected
            if (of_commit or of_day) and not event.unconfirmed:
                found[event.case_id] = event
            else:
                found.pop(event.case_id, None)
    return found


def fold_behind(before: Mapping[str, str], events: Mapping[str, Events]) -> dict[str, str]:
    """Return the cases that are behind on the default branch after `events`, by name, with their missing requests."""
    found = dict(before)
    for name in in_order(events):
        found |= dict(events[name].behind)
    return {case_id: request for case_id, request in found.items() if request}


def in_order(events: Mapping[str, Events]) -> list[str]:
    """Return the names of `events` in the order in which they happened."""

    def when(name: str) -> tuple[date, str, str, int, str]:
        one = events[name]
        # Each part of a resumed run counts more trials than the one before; the names of their files end in a digest,
        # which has no order. Two pull requests may begin a run in one second, and `who` keeps their parts together.
        return one.date, one.run, one.who, one.trials, name

    return sorted(events, key=when)
