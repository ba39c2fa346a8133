"""Make a history of changes of a team's own runs, from what their journals say each change affected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pytest_recall.schedule.boxes import UNSCHEDULED
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome


class JudgedRun(NamedTuple):
    """A run as a history needs it: the cases that its change affected, None if that is not on record, and its verdicts.

    `change` is the pull request's number, or what else runs of one change have in common. `verdicts` are case ids with
    whether each trial passed.
    """

    change: str
    commit: str
    date: str
    affected: tuple[str, ...] | None
    verdicts: tuple[tuple[str, bool], ...]


def affected_in(header: Header) -> tuple[str, ...] | None:
    """Return the ids of the cases that the change of a run affected, or None if its journal does not have them."""
    return header.affected if header.replayed else None


def judged_run(record: Record) -> JudgedRun:
    """Return what a run says of its change."""
    header = record.header
    verdicts = [
        (trial.case_id, trial.outcome is Outcome.PASSED)
        for trial in record.trials
        if trial.outcome.is_verdict and trial.counts_for_schedule and trial.reason not in UNSCHEDULED and not trial.arm
    ]
    change = f"pull request {header.pr}" if header.pr else f"commit {header.commit or header.run}"
    return JudgedRun(change, header.commit[:9] or header.run, header.date, affected_in(header), tuple(verdicts))


class _Spell:
    """The trials of a case between two changes of its requests."""

    __slots__ = ("fails", "passes")

    def __init__(self) -> None:
        self.passes = self.fails = 0

    def counts(self) -> list[int] | None:
        """Return passes and fails, or None without a trial."""
        return [self.passes, self.fails] if self.passes or self.fails else None


class _Line:
    """A change: its run, the cases that came with it or after it, and those it affected with their spells."""

    def __init__(self, run: JudgedRun) -> None:
        self.run = run
        self.came: list[str] = []
        self.touched: list[tuple[str, int]] = []


def exported(runs: Sequence[JudgedRun]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a history as plain JSON types, from runs, the oldest first.

    Each change is a line, at the place of the newest of its runs that say what it affected. Verdicts count from one
    change of a case's requests to the next; those of earlier runs of a pull request on cases that it affects are of
    requests that were never merged, and left out. A case that comes with a change is not affected by it. Requests are
    numbered: `1`, and `2` after the first change.
    """
    newest = {run.change: place for place, run in enumerate(runs) if run.affected is not None}
    spells: dict[str, list[_Spell]] = {}
    lines: list[_Line] = []
    early: list[str] = []  # Cases that were there before the first change.
    for place, run in enumerate(runs):
        is_last = newest.get(run.change) == place
        affected = set(run.affected or ())
        if is_last:
            lines.append(_Line(run))
            for case_id in sorted(affected & spells.keys()):
                lines[-1].touched.append((case_id, len(spells[case_id])))
                spells[case_id].append(_Spell())
        for case_id in sorted((affected if is_last else set()) | {case_id for case_id, _ in run.verdicts}):
            if case_id not in spells:
                spells[case_id] = [_Spell()]
                (lines[-1].came if lines else early).append(case_id)
        for case_id, passed in run.verdicts:
            if is_last or case_id not in affected:
                spells[case_id][-1].passes += passed
                spells[case_id][-1].fails += not passed
    if lines:
        lines[0].came[:0] = early
    numbers = {case_id: number for number, case_id in enumerate(case_id for line in lines for case_id in line.came)}
    for place, line in enumerate(lines):
        came = [[numbers[one], one, ["1"], spells[one][0].counts()] for one in line.came]
        yield {
            "commit": line.run.commit,
            "date": line.run.date,
            "source": True,
            **({"added": came} if place and came else {"cases": came} if not place else {}),
            "changed": [
                [numbers[one], [str(at)], [str(at + 1)], spells[one][at - 1].counts(), spells[one][at].counts()]
                for one, at in line.touched
            ],
        }
