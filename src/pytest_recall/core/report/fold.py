"""Fold: a run's journal, scorecard and what lies around them, as one report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from pytest_recall.core.compare import Comparison
from pytest_recall.core.forecast import Forecast
from pytest_recall.core.record import Header, Record
from pytest_recall.core.report.entry import Entry, Step, Taped, Written
from pytest_recall.core.schedule import Quarantine, review
from pytest_recall.core.scorecard import NOT_RUN, Failure, Scorecard
from pytest_recall.core.series import graded
from pytest_recall.core.spend import Spend, of_run
from pytest_recall.core.trial import Outcome, Trial
from pytest_recall.metrics.binomial import Interval, wilson


class Rate(NamedTuple):
    """How many of the verdicts of a group passed, and the 95 % interval of that share (Wilson)."""

    passed: int
    verdicts: int
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run with all that is known of its cases, those first that have to be looked at.

    `standing` is how all cases stand on the schedule, None if no case file could be read. `spends` and `rates`
    are by scenario. `against` compares the run with an earlier one. `missing` says what could not be read.
    """

    record: Record
    card: Scorecard
    entries: tuple[Entry, ...]
    rates: dict[str, Rate]
    spends: dict[str, Spend]
    standing: Forecast | None = None
    against: Comparison | None = None
    missing: tuple[str, ...] = ()

    @property
    def regressions(self) -> list[Entry]:
        """The cases that fail now and passed before, by id."""
        return [entry for entry in self.entries if entry.regression]

    @property
    def apart(self) -> list[Entry]:
        """The cases of this run that were in quarantine."""
        return [entry for entry in self.entries if entry.result is not None and entry.result.apart]


def fold(
    record: Record,
    card: Scorecard,
    *,
    written: Mapping[str, Written],
    steps: Mapping[str, Sequence[Step]],
    taped: Mapping[str, Taped],
    standing: Forecast | None = None,
    against: Comparison | None = None,
    missing: Iterable[str] = (),
) -> Report:
    """Return the report of a run; what a mapping lacks is not known."""
    results = {result.trial.case_id: result for result in card.results}
    pairs = {pair.case_id: pair for pair in against.pairs} if against is not None else {}
    reasons = {**{case_id: result.trial.reason for case_id, result in results.items()}, **dict(card.not_run)}
    entries = [
        Entry(
            case_id=case_id,
            reason=reason,
            result=results.get(case_id),
            written=written.get(case_id),
            steps=tuple(steps.get(case_id, ())),
            taped=taped.get(case_id),
            last_pass=card.passes.get(case_id),
            pair=pairs.get(case_id),
        )
        for case_id, reason in reasons.items()
    ]
    return Report(
        record=record,
        card=card,
        entries=tuple(sorted(entries, key=_urgency)),
        rates={name: _rate(counts) for name, counts in card.by_scenario.items()},
        spends=of_run(record),
        standing=standing,
        against=against,
        missing=tuple(missing),
    )


_ORDER = (
    *(kind.value for kind in Failure),
    Outcome.ERROR.value,
    Outcome.SKIPPED.value,
    NOT_RUN,
    Outcome.PASSED.value,
)


def _urgency(entry: Entry) -> tuple[bool, bool, int, str]:
    return not entry.regression, entry.flip != "lost", _ORDER.index(entry.kind), entry.case_id


def _rate(counts: Mapping[str, int]) -> Rate:
    passed = counts.get(Outcome.PASSED.value, 0)
    verdicts = passed + counts.get(Outcome.FAILED.value, 0)
    return Rate(passed, verdicts, wilson(passed, verdicts))


def scores(trial: Trial) -> tuple[float, ...]:
    """Return the scores of the judges that give one, in their order, from 0 to 1."""
    return tuple(verdict.score for verdict in trial.verdicts if verdict.score is not None)


def steps_of(record: Record, cases: Iterable[str], quarantine: Quarantine | None) -> dict[str, Step]:
    """Return what these cases came to in a run, by id, of those that it has asked."""
    header: Header = record.header
    today = date.fromisoformat(header.date)
    found: dict[str, Step] = {}
    trials = graded(record.trials)
    for case_id in cases:
        if (trial := trials.get(case_id)) is None:
            continue
        before = trial.row.box if trial.row else None
        after = review(trial.row, trial, today, quarantine) if header.writes else trial.row
        found[case_id] = Step(
            run=header.run,
            day=header.date,
            outcome=trial.outcome,
            before=before,
            after=after and after.box,
            source=trial.source,
            scores=scores(trial),
            note=trial.note,
            answer=trial.answer.text if trial.answer else None,
        )
    return found
