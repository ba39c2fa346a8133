"""Plan a run: the cases of all files, the slice that is chosen from them, and the header of its journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.changes import CaseChange
from pytest_recall.cases.settings import Mode, Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place, today_yaml
from pytest_recall.runs.base import NO_BASE, Base
from pytest_recall.runs.checkout import UNKNOWN, Checkout
from pytest_recall.runs.context import Context, Filters
from pytest_recall.runs.resume import Rest, Shard, fingerprint
from pytest_recall.schedule.boxes import AFFECTED, OF_CHANGE, released, reset, swapped
from pytest_recall.schedule.events import verdicts_that_hold
from pytest_recall.schedule.forecast import left_out
from pytest_recall.schedule.run_file import not_held, run_files
from pytest_recall.schedule.selection import Pick, Remainder, Unanswered, choose, remainder
from pytest_recall.schedule.state import check_dates, current, with_events
from pytest_recall.trials.record import (
    RECORDS_NOTHING,
    Header,
    NotCompared,
    QuestionRecord,
    RecordingFacts,
    SetApart,
)
from pytest_recall.trials.trial import Row, asks_only

if TYPE_CHECKING:
    from pytest_recall.schedule.changes import Changes
    from pytest_recall.schedule.events import Event, Events


class Source(Protocol):
    """A file with cases: where each is, and the cases themselves.

    Those of a dataset or a profile are on no schedule, and run for a `reason` of their own; it is empty for others.

    `memory` is the selector that the file itself names, empty where it names none; its relative paths are those
    from `root`, or from the project's where that is None. `memory_config` is what it is made with.
    """

    @property
    def name(self) -> str: ...
    @property
    def lines(self) -> dict[str, int]: ...
    @property
    def reason(self) -> str: ...
    @property
    def memory(self) -> str: ...
    @property
    def memory_config(self) -> Mapping[str, Any]: ...
    @property
    def root(self) -> Path | None: ...

    def cases(self, ids: Iterable[str] | None = None) -> list[Case]:
        """Return the cases with these ids, or all. Raises RecallError."""
        ...


def check_others(source: Source, others: Iterable[Source]) -> None:
    """Raise RecallError if a case of `source` is one of the `others` as well."""
    for other in others:
        if both := source.lines.keys() & other.lines.keys():
            raise RecallError(
                f"{source.name}: asks `{min(both)}`, as {other.name} does; run one of the files at a time"
            )


def kept_ids(files: Iterable[Source], wanted: Filters) -> set[str]:
    """Return the ids of the cases in `files` that are wanted; cases are read only if they must be."""
    if not wanted.narrows:
        return {case_id for file in files for case_id in file.lines}
    return {case.id for case in read_cases(files) if wanted.keeps(case.scenario, case.dimension)}


def read_cases(files: Iterable[Source]) -> list[Case]:
    """Return every case of `files`. Raises RecallError."""
    return [case for file in files for case in file.cases()]


EXPLICIT = "explicit"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The slice of a run and all that it was chosen from.

    A plan does not change: what is learned later, such as by collection, gives another one.
    """

    place: Place
    context: Context
    rubric: Settings
    filters: Filters
    rows: Mapping[str, Row]
    """The state of the cases, after a reset if one was asked for."""
    unanswered: Mapping[str, Unanswered] = field(default_factory=dict)
    behind: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    files: Mapping[Path, Source] = field(default_factory=dict)
    cases: frozenset[str] = frozenset()
    """The ids that the slice was chosen from."""
    declared: frozenset[str] = frozenset()
    picks: tuple[Pick, ...] = ()
    """The slice. Of a `shard` it is its part of the `full_slice`, and of a resumed run what its `rest` has left."""
    complete: bool = False
    """Whether the files are all that there are, so that a row without a case has lost it."""
    reset: bool = False
    swapped: int = 0
    baselines: tuple[str, ...] = ()
    """Who is asked the slice beside the agent under test."""
    batch: bool = False
    """Whether calls go through batch APIs."""
    base: Base = NO_BASE
    """Where the change of this run begins."""
    changes: Changes | None = None
    """What a replay of all cases found of the change, where one was made."""
    unaffordable: frozenset[str] = frozenset()
    """The affected cases that the budget does not reach."""
    keeps_recordings: bool = False
    """Whether CI keeps what it records beside the branch."""
    shard: Shard | None = None
    full_slice: tuple[Pick, ...] = ()
    """The slice that all shards choose."""
    rest: Rest | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None
    ledger: str = ""
    early: str = ""
    recording: RecordingFacts = RECORDS_NOTHING
    checkout: Checkout = UNKNOWN
    is_fork: bool = False
    """Whether the change comes from another repository."""
    is_check: bool = False
    """Whether the run is that of a job for a pull request."""
    case_changes: tuple[CaseChange, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    collected: frozenset[str] | None = None
    """The cases that pytest has left of those that a person chose; None before that is known."""
    earlier_verdicts: Mapping[str, Event] = field(default_factory=dict)
    """Those of earlier runs of the same change that hold, so that their cases are not asked again."""

    @property
    def scheduled(self) -> bool:
        """Whether the schedule chose the slice."""
        return not self.filters.explicit

    @property
    def writes(self) -> bool:
        """Whether the trials of this run belong in the state."""
        return self.scheduled or self.filters.update

    @property
    def mode(self) -> str:
        """The mode's name, "explicit" where the person chose."""
        return self.context.mode if self.scheduled else EXPLICIT

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why each chosen case runs, by id."""
        return dict(self.picks)

    @cached_property
    def before(self) -> Mapping[str, Row]:
        """The last verdicts that those of this run are compared with: at the base, where there is one.

        What runs of the change itself have written is not among them, so that none is excused by an earlier push.
        """
        if self.base.rows is None:
            return {} if self.base.is_change else self.rows
        rows = {case_id: released(row, self.context.date) for case_id, row in self.base.rows.items()}
        renamed = {one.now: rows[one.case_id] for one in self.case_changes if one.now and one.case_id in rows}
        return {**renamed, **rows}

    @property
    def knows_change(self) -> bool:
        """Whether it is known which cases the change of this run affects."""
        return self.scheduled and self.changes is not None and self.context.mode == "pr"

    def decides(self, case_id: str) -> bool:
        """Whether the verdict on a case decides the check: where the change is known, only what it affects does."""
        if not self.knows_change:
            return True
        return self.reasons.get(case_id, OF_CHANGE[-1]) in OF_CHANGE

    @cached_property
    def as_base(self) -> Mapping[str, tuple[str, ...]]:
        """The cases that are as at the base, which has not recorded them, each with the keys of what they ask.

        None of a change that alters more than cases, and no case that is altered itself.
        """
        if self.changes is None or self.changes.alters_more or not self.knows_change:
            return {}
        altered = {case_id for one in self.case_changes for case_id in (one.case_id, one.now)}
        return {case_id: keys for case_id, keys in self.changes.as_base.items() if case_id not in altered}

    def is_behind(self, case_id: str, asked: Collection[str]) -> bool:
        """Whether a case is as at the base, which has not recorded it, and has `asked` nothing but that."""
        return asks_only(asked, self.as_base.get(case_id, ()))

    @property
    def missing(self) -> tuple[tuple[str, str, str], ...]:
        """The cases that are behind on the default branch by its state or by its replay, with the requests of both.

        What the replay of a case has left open is as the state says.
        """
        if self.changes is None or self.base.is_change or not self.scheduled or self.mode not in ("main", "nightly"):
            return ()
        from pytest_recall.schedule.changes import ReplayState

        known = {case_id for case_id, one in self.changes.findings.items() if one.state is not ReplayState.UNKNOWN}
        known |= self.behind.keys() - self.declared if self.complete else set()
        now = self.changes.missing
        after = {case_id: now.get(case_id, "") if case_id in known else was for case_id, was in self.behind.items()}
        every = {**after, **now}
        return tuple((case_id, self.behind.get(case_id, ""), every[case_id]) for case_id in sorted(every))

    def begins_as_recorded(self, case_id: str) -> bool:
        """Whether recordings of the base may answer a case up to where the change has it ask something else.

        Such an answer moves no box: a case whose box is to move, since it is due, in box 1 or new, is asked live.
        """
        row = self.rows.get(case_id)
        moves = row is None or row.box == 1 or row.is_due(self.context.date)
        return self.context.mode == "pr" and self.reasons.get(case_id) == AFFECTED and not moves

    @property
    def unscheduled(self) -> dict[str, str]:
        """Why the questions of datasets and profiles run, by id."""
        return {case_id: file.reason for file in self.files.values() if file.reason for case_id in file.lines}

    @property
    def question_records(self) -> Iterator[QuestionRecord]:
        """The chosen questions of datasets and profiles, which no case file has."""
        from pytest_recall.judges.fence import plain, question  # most runs have none

        for file in self.files.values():
            if file.reason:
                for case in file.cases(file.lines.keys() & self.reasons.keys()):
                    reference = None if case.expected is None else plain(case.expected)
                    yield QuestionRecord(case.id, question(case), case.dimension, reference, case.evidence or ())

    @property
    def checks_change(self) -> bool:
        """Whether the run is to say what a pull request breaks."""
        return self.is_check and self.base.is_change

    @property
    def not_compared(self) -> NotCompared | None:
        """Why a check cannot say what the change breaks, whatever its cases come to; None if it can."""
        if self.scheduled:
            return self.base.not_compared
        if not (self.checks_change and self.cases):
            return None
        return NotCompared("chosen", self.filters.explicit)

    @property
    def orphans(self) -> list[str]:
        """Ids in the state without a case; known only to a run that has read all case files."""
        return sorted(self.rows.keys() - self.declared) if self.complete else []

    @property
    def left(self) -> Remainder:
        """What was not chosen."""
        decided = () if self.changes is None else self.changes.decided
        cases = self.cases.difference(self.unaffordable, decided, self.earlier_verdicts)
        if self.scheduled and self._lacks_base(self.context.mode):
            rest = cases.difference(pick.case_id for pick in self.full_slice)
            return Remainder(not_due=0, over_cap=0, unseen=0, next_due=None, without_base=len(rest))
        return remainder(cases, self.full_slice, self.rows, self.context.date, retests=self.mode != "nightly")

    @property
    def observed(self) -> list[Pick]:
        """What a pull request would run today, where everything is run to find out what that is worth."""
        return self._slice("pr") if self.mode == "observe" else []

    def _lacks_base(self, mode: Mode) -> bool:
        """Whether nothing is chosen in a mode: without its base a check decides nothing, whatever its cases come to."""
        return mode == self.context.mode == "pr" and self.base.not_compared is not None

    def _slice(self, mode: Mode) -> list[Pick]:
        context, changes = self.context, self.changes if mode == self.context.mode else None
        if self._lacks_base(mode):
            return []
        scheduled = self.cases - self.unscheduled.keys() - self.unaffordable - self.earlier_verdicts.keys()
        if self.is_fork and changes is not None:
            # A fork has no key for what is merely due, and what its base alone has left open is not its matter.
            scheduled &= changes.reasons.keys() - self.as_base.keys()
        # A case that fails on a recorded answer has its verdict; a live one would take its place.
        return choose(
            scheduled if changes is None else scheduled.difference(changes.decided),
            self.rows,
            self.rubric,
            mode,
            context.date,
            context.seed,
            unanswered=self.unanswered,
            affected={} if changes is None else changes.reasons,
        )

    @property
    def items(self) -> set[str] | None:
        """The cases that become items, of which collection may yet drop some; None for all that there are."""
        if self.rest is not None:
            return set(self.reasons)
        return {pick.case_id for pick in self.full_slice} if self.scheduled else None

    def choosing(self, more: Iterable[str] = ()) -> Plan:
        """Return the plan with its slice chosen again, with `more` cases to choose from.

        Choosing from what was chosen and `more` gives the same slice as choosing from
        everything, so that a worker that knows only the slice arrives at the same one.
        """
        news = frozenset(more)
        plan = replace(self, cases=self.cases | news)
        if self.rest is not None:
            left = set(self.rest.cases)
            picks = tuple(Pick(*pick) for pick in self.rest.header.picks if pick[0] in left)
            return replace(plan, full_slice=picks, picks=picks)
        reasons = plan.unscheduled
        if plan.scheduled:
            apart = plan.cases & reasons.keys()
            picks = (*plan._slice(plan.context.mode), *(Pick(case_id, reasons[case_id]) for case_id in sorted(apart)))
        else:
            kept = plan.cases if plan.collected is None else plan.collected | news
            picks = tuple(Pick(case_id, reasons.get(case_id, EXPLICIT)) for case_id in sorted(kept))
        return replace(plan, picks=picks).dealt()

    def choosing_collected(self, case_ids: Iterable[str]) -> Plan:
        """Return the plan whose slice is what pytest has left of the cases that a person chose, for all shards."""
        return replace(self, collected=frozenset(case_ids)).choosing()

    def dealt(self) -> Plan:
        """Return the plan with this shard's part of the slice, which is all of it without a shard."""
        if self.shard is None:
            return replace(self, full_slice=self.picks)
        own = self.shard.part(pick.case_id for pick in self.picks)
        return replace(self, full_slice=self.picks, picks=tuple(pick for pick in self.picks if pick.case_id in own))

    def restricted(self, case_ids: Iterable[str]) -> Plan:
        """Return the plan with only the picks that pytest collected, after `-k`, `--lf` and node ids."""
        collected = frozenset(case_ids)
        picks = tuple(pick for pick in self.full_slice if pick.case_id in collected)
        return replace(self, collected=collected, picks=picks, full_slice=self.full_slice if self.shard else picks)

    def with_file(self, path: Path, file: Source) -> Plan:
        """Return the plan with a file that only a worker reads, or that another plugin has led pytest to."""
        return replace(self, files={**self.files, path: file}, declared=self.declared | file.lines.keys())

    def declaring(self, case_ids: Iterable[str]) -> Plan:
        """Return the plan with cases that are no rows of a file, such as marked tests."""
        return replace(self, declared=self.declared.union(case_ids))

    def header(self, run: str, started: str) -> Header:
        """Return the journal's header of this run, which is the one that it began with if it goes on."""
        return self._header._replace(run=run, started=started) if self.rest is None else self.rest.header

    @cached_property  # It goes through all cases, and is asked for several times.
    def _header(self) -> Header:
        context, left = self.context, self.left
        full_slice = tuple((pick.case_id, pick.reason) for pick in self.full_slice) if self.shard else ()
        scheduled = self.cases - self.unscheduled.keys()
        known = [self.before[case_id] for case_id in scheduled if case_id in self.before]
        answered = () if self.changes is None else self.changes.answered
        others = scheduled.difference(dict(self.full_slice), answered, self.earlier_verdicts)
        rest = left_out(others, self.rows, self.unanswered, context.date)
        waiting = sorted((case_id, one) for case_id, one in self.unanswered.items() if case_id in scheduled)
        return Header(
            run="",
            date=context.date.isoformat(),
            mode=self.mode,
            seed=context.seed,
            started="",
            scheduled=self.scheduled,
            writes=self.writes,
            total=len(self.cases),
            whole=self.complete and not self.filters.narrows,
            files=() if self.complete else tuple(sorted(one.name for one in self.files.values() if not one.reason)),
            picks=tuple(self.reasons.items()),
            state=self.digest,
            pr=context.pr,
            model=context.model,
            reset=self.reset,
            owner=self.rubric.owner,
            scenarios=self.filters.scenarios,
            dimensions=self.filters.dimensions,
            not_due=left.not_due,
            over_cap=left.over_cap,
            unseen=left.unseen,
            without_base=left.without_base,
            next_due=left.next_due.isoformat() if left.next_due else None,
            orphans=tuple(self.orphans),
            swapped=self.swapped,
            quarantined=tuple(self.quarantined),
            lapses=self.rubric.quarantine_lapses,
            baselines=self.baselines,
            batch=self.batch,
            observed=tuple((pick.case_id, pick.reason) for pick in self.observed),
            shard=str(self.shard or ""),
            slice=full_slice,
            fingerprint=fingerprint(full_slice) if self.shard else "",
            settings=self.settings,
            budget=self.budget,
            ledger=self.ledger,
            early=self.early,
            **self.recording._asdict(),
            blocks=self.rubric.blocks,
            questions=len(self.cases & self.unscheduled.keys()),
            verdicts=len(known),
            passing=sum(not row.failing for row in known),
            oldest="" if rest.oldest is None else rest.oldest.isoformat(),
            oldest_case=rest.case_id,
            overdue=rest.overdue,
            unanswered=tuple((case_id, one.last_asked.isoformat(), one.days, one.waived) for case_id, one in waiting),
            moved=self.moved,
            **self.checkout._asdict(),
            base=self.base.commit,
            fork=self.is_fork,
            altered=tuple((one.case_id, one.now, one.alterations) for one in self.case_changes),
            held_settings=self.base.held_settings,
            judge_code=tuple((one.now, *judge) for one in self.case_changes for judge in one.judges),
            request_changes=() if self.changes is None else tuple(self.changes.request_changes.items()),
            not_compared=self.not_compared,
            knows_change=self.knows_change,
            allowed=self.rubric.no_verdict_allowed,
            affected=() if self.changes is None else self.changes.touched,
            replayed=None if self.changes is None else self.changes.summary,
            unaffected=0 if self.changes is None else len(self.changes.findings) - len(self.changes.affected),
            behind=() if self.changes is None else tuple(sorted({*self.changes.behind, *self.changes.as_base})),
            as_base=tuple(sorted(self.as_base.items())),
            missing=self.missing,
            own_recordings=0 if self.changes is None else self.changes.own,
            varying=0 if self.changes is None else len(self.changes.varying),
            varying_of=0 if self.changes is None else self.changes.varying_of,
            unaffordable=tuple(sorted(self.unaffordable)),
            ci_recordings=() if self.changes is None else self.changes.of_ci,
            keeps_recordings=self.keeps_recordings,
        )

    @property
    def quarantined(self) -> list[SetApart]:
        """Which cases are set apart."""
        return [
            SetApart(
                case_id,
                row.quarantined.isoformat(),
                None if row.until is None else row.until.isoformat(),
                row.owner,
                row.lapses,
            )
            for case_id, row in sorted(self.rows.items())
            if row.quarantined is not None and case_id in self.declared
        ]

    def today(self) -> str:
        """Return the text of today.yaml."""
        context = self.context
        fields = {
            "mode": self.mode,
            "date": context.date.isoformat(),
            "seed": context.seed,
            **({"shard": str(self.shard)} if self.shard else {}),
            "state": f"sha256:{self.digest}",
            "chosen": len(self.picks),
            "of": len(self.cases),
        }
        left = (Pick(case_id, "budget") for case_id in sorted(self.unaffordable))
        return today_yaml(fields, map(self._entry, self.picks), map(self._entry, left))

    def _entry(self, pick: Pick) -> dict[str, Any]:
        row = self.rows.get(pick.case_id)
        entry: dict[str, Any] = {"id": pick.case_id, "reason": pick.reason}
        found = None if self.changes is None else self.changes.findings.get(pick.case_id)
        if found is not None and (pick.reason in OF_CHANGE or pick.case_id in self.unaffordable):
            from pytest_recall.results.replay_text import reason_text  # of a change alone

            entry["why"] = reason_text(found)
        return entry if row is None else {**entry, "box": row.box, "next_due": row.next_due.isoformat()}


Read = Callable[[Path, str], Source]
"""Reads a file that is not a case file but has cases, by its path and the name that messages give it."""


def read_dataset(path: Path, name: str) -> Source:
    """Return the questions of a dataset that is built in. Raises RecallError."""
    from pytest_recall.datasets.cases import read_bench

    return read_bench(path, name)


NO_EVENTS: Mapping[str, Events] = MappingProxyType({})


def make_plan(
    place: Place,
    paths: Iterable[Path],
    context: Context,
    rubric: Settings,
    filters: Filters,
    *,
    datasets: Iterable[Path] = (),
    read: Read = read_dataset,
    complete: bool,
    reset_on_swap: bool = False,
    base: Base = NO_BASE,
    changes: Changes | None = None,
    earlier: Mapping[str, Events] = NO_EVENTS,
    commit: str = "",
    shard: Shard | None = None,
    rest: Rest | None = None,
    today: date | None = None,
) -> Plan:
    """Return the plan of a run over the case files `paths`, and over the files in `datasets`, that `read` reads.

    `complete` says that `paths` are all there are, so that a row without a case has lost it. `base` is where the
    change begins, `changes` what a replay of all cases has found, where the slice depends on it, and `earlier` what
    runs of the same pull request have found, whether its branch still has that or not: verdicts of it on the `commit`
    that is checked out hold. A `shard` takes its part of
    the slice, and with the `rest` of a run that is all there is to do. No row may be of a day after `today`, which
    the clock says, and after that of the run. Raises RecallError for whatever is wrong in any of the files.
    """
    rows_of = {path: CaseFile(path, place.name(path)) for path in paths}
    check_unique(rows_of.values())
    files: dict[Path, Source] = {**rows_of}
    for path in datasets:
        added = read(path, place.name(path))
        check_others(added, files.values())
        files[path] = added
    # A run that could not be remembered must not start.
    state = current(place)
    decides = base.is_change and context.mode == "pr" and rubric.recording == "off"
    verdicts = verdicts_that_hold(
        earlier, commit, None if decides else context.date, () if changes is None else changes.reasons
    )
    if changes is not None:
        changes = changes.holding(verdicts)
        verdicts = {case_id: event for case_id, event in verdicts.items() if case_id not in changes.decided}
    if news := not_held(earlier, {*state.folded, *run_files(place.run_files)}):
        state = with_events(state, {name: earlier[name] for name in news})
    if today is not None:
        check_dates(place, state, max(context.date, today))
    # Where what is due decides, each push is asked what the base has due: no pass of an earlier push excuses it.
    rows_known = (base.rows or {}) if decides else state.rows
    rows = {case_id: released(row, context.date) for case_id, row in rows_known.items()}
    stale = len(swapped(rows, context.model))
    if reset_on_swap:
        rows.update(reset(rows, context.model, context.date))
    plan = Plan(
        place=place,
        context=context,
        rubric=rubric,
        filters=filters,
        rows=rows,
        unanswered=state.unanswered,
        behind=state.behind,
        digest=state.digest,
        files=files,
        declared=frozenset(case_id for file in files.values() for case_id in file.lines),
        complete=complete,
        reset=reset_on_swap,
        swapped=stale,
        base=base,
        changes=changes,
        shard=shard,
        earlier_verdicts=verdicts,
    )
    if rest is not None:
        known = {case_id for case_id, _ in rest.done.keys() | rest.begun.keys()}
        found = (case for file in files.values() for case in file.cases(known & file.lines.keys()))
        plan = replace(plan, rest=rest.with_cases({case.id: case.fingerprint for case in found}))
    plan = plan.choosing(kept_ids(files.values(), filters))
    unread = {pick.case_id for pick in plan.full_slice} | (plan.cases - rows.keys())
    for file in files.values():
        file.cases(unread)
    return plan


def with_marked(plan: Plan, marked: Mapping[str, tuple[str, str]]) -> Plan:
    """Return the plan with the marked tests, (scenario, dimension) by id, to choose from as well.

    Raises RecallError as `check_names`.
    """
    check_names(plan, marked)
    plan = plan.declaring(marked)
    wanted = [case_id for case_id, names in marked.items() if plan.filters.keeps(*names)]
    return plan.choosing(wanted) if marked else plan


def check_names(plan: Plan, others: Mapping[str, tuple[str, str]]) -> None:
    """Raise RecallError for a wanted scenario or dimension that no case has.

    `others` are the cases that are not rows of a file, as (scenario, dimension) by id.
    """
    if not plan.filters.narrows:
        return
    cases = read_cases(plan.files.values())
    plan.filters.check(
        [case.scenario for case in cases] + [scenario for scenario, _ in others.values() if scenario],
        [case.dimension for case in cases] + [dimension for _, dimension in others.values() if dimension],
    )
