"""Collect everything that is known of a run and its cases, for a report page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from pydantic import JsonValue

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.metrics.intervals import Interval, wilson
from pytest_recall.results.comparison import Comparison, Pair
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.regressions import DiffPiece, word_diff
from pytest_recall.results.scorecard import NOT_RUN, CaseResult, FailureKind, LastPass, Scorecard
from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.forecast import Forecast
from pytest_recall.trials.cost import Spend, of_run
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Trial


class WrittenCase(NamedTuple):
    """A case as its file has it now, all of it as text."""

    asked: str
    reference: str
    """Empty where the case has none."""
    scenario: str
    dimension: str
    criteria: tuple[str, ...] = ()
    """Its judges with their arguments."""
    tags: tuple[str, ...] = ()
    notes: str = ""
    edited: bool = False
    """Whether it is not the one that the run has asked."""


def written(case: Case, fingerprint: str = "") -> WrittenCase:
    """Return a case as text; `fingerprint` is that of the trial, empty where it is not known."""
    return WrittenCase(
        asked=_asked(case),
        reference="" if case.expected is None else _text(case.expected),
        scenario=case.scenario,
        dimension=case.dimension,
        criteria=tuple(_criterion(call) for call in case.judges),
        tags=case.tags,
        notes=case.notes or "",
        edited=bool(fingerprint) and fingerprint != case.fingerprint,
    )


def _asked(case: Case) -> str:
    if case.turns is None:
        return _text(case.input)
    said = ((who, text) for turn in case.turns for who, text in (("user", turn.user), ("assistant", turn.assistant)))
    return "\n".join(f"{who}: {text}" for who, text in said if text is not None)


def _criterion(call: JudgeCall) -> str:
    if not call.arguments:
        return call.name
    given = call.arguments["expected"] if call.arguments.keys() == {"expected"} else call.arguments
    return f"{call.name}: {_text(given)}"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class CaseStep(NamedTuple):
    """What a case came to in one run."""

    run: str
    day: str
    """In ISO 8601."""
    outcome: Outcome
    before: int | None
    """Its box before the run; None where it had none."""
    after: int | None
    """Its box after the run; None where it had none."""
    source: str = "live"
    scores: tuple[float, ...] = ()
    """Those of the judges that give one."""
    note: str = ""
    """Why the outcome is what it is."""
    answer: str | None = None
    """None where there is none."""


class Upstream(NamedTuple):
    """A recorded call."""

    kind: str
    address: str
    status: str
    """The HTTP status, or how the call ended that had none."""
    seconds: float
    asked: str
    """Its last message; empty where that is no text."""
    answered: str
    """The reply; empty where that is no text."""


class RecordedCalls(NamedTuple):
    """The calls of a cassette, with its file and the day of its recording."""

    path: str
    day: str = ""
    calls: tuple[Upstream, ...] = ()
    problem: str = ""
    """Why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEntry:
    """One case of a run."""

    case_id: str
    reason: str
    result: CaseResult | None = None
    """None for a case that was chosen and not run."""
    written: WrittenCase | None = None
    """None where no case file has it, as of an ordinary test on the schedule."""
    steps: tuple[CaseStep, ...] = ()
    """Its runs so far, oldest first, this one last."""
    taped: RecordedCalls | None = None
    last_pass: LastPass | None = None
    pair: Pair | None = None
    """There if two runs are compared and both have a verdict on the case."""

    @property
    def trial(self) -> Trial | None:
        """The trial that grades the case."""
        return None if self.result is None else self.result.trial

    @property
    def outcome(self) -> str:
        """How the case ended, in a word: an outcome, or that it was not run."""
        return NOT_RUN if self.result is None else self.result.trial.outcome.value

    @property
    def kind(self) -> str:
        """How the case ended, in the words of the headline: a failed one is a regression, a known failure and so on."""
        if self.result is None or self.result.trial.outcome is not Outcome.FAILED:
            return self.outcome
        return self.result.failure.value

    @property
    def regression(self) -> bool:
        """Whether it fails now, and its last verdict was a pass."""
        return self.result is not None and self.result.regression

    @property
    def scenario(self) -> str:
        """The scenario that it ran in, or that its file names; empty where neither is known."""
        return (self.trial and self.trial.scenario) or (self.written.scenario if self.written else "")

    @property
    def dimension(self) -> str:
        """The dimension, known as the scenario is."""
        return (self.trial and self.trial.dimension) or (self.written.dimension if self.written else "")

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of those who judged, each once."""
        verdicts = self.trial.verdicts if self.trial else ()
        return tuple(dict.fromkeys(verdict.judge for verdict in verdicts if verdict.judge))

    @property
    def source(self) -> str:
        """Where the answer came from; empty if there is none."""
        return self.trial.source if self.trial is not None and self.trial.answer is not None else ""

    @property
    def flip(self) -> str:
        """What has become of it since the first of two runs: `lost`, `gained`, `same`; empty where they do not tell."""
        if self.pair is None:
            return ""
        return {(True, False): "lost", (False, True): "gained"}.get(self.pair.passed, "same")

    def change(self) -> list[DiffPiece]:
        """Return how the answer differs from that of the first of two runs; empty if it does not, or there is none."""
        if self.pair is None or self.pair.base.answer is None or self.trial is None or self.trial.answer is None:
            return []
        return word_diff(self.pair.base.answer.text, self.trial.answer.text)

    def difference(self) -> list[DiffPiece]:
        """Return how the answer differs from that of the last pass, in a few words; empty if it does not."""
        if self.last_pass is None or self.trial is None or self.trial.answer is None:
            return []
        return word_diff(self.last_pass.answer, self.trial.answer.text)


class PassRate(NamedTuple):
    """How many of the verdicts of a group passed, and the 95 % interval of that share (Wilson)."""

    passed: int
    verdicts: int
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run with all that is known of its cases."""

    record: Record
    card: Scorecard
    entries: tuple[CaseEntry, ...]
    """Those first that have to be looked at."""
    rates: dict[str, PassRate]
    """By scenario."""
    spends: dict[str, Spend]
    """By scenario."""
    standing: Forecast | None = None
    """How all cases stand on the schedule; None if no case file could be read."""
    against: Comparison | None = None
    """Compares the run with an earlier one."""
    missing: tuple[str, ...] = ()
    """What could not be read."""

    @property
    def regressions(self) -> list[CaseEntry]:
        """The cases that fail now and passed before, by id."""
        return [entry for entry in self.entries if entry.regression]

    @property
    def apart(self) -> list[CaseEntry]:
        """The cases of this run that were in quarantine."""
        return [entry for entry in self.entries if entry.result is not None and entry.result.apart]


def fold(
    record: Record,
    card: Scorecard,
    *,
    written: Mapping[str, WrittenCase],
    steps: Mapping[str, Sequence[CaseStep]],
    taped: Mapping[str, RecordedCalls],
    standing: Forecast | None = None,
    against: Comparison | None = None,
    missing: Iterable[str] = (),
) -> RunReport:
    """Return the report of a run; what a mapping lacks is not known."""
    results = {result.trial.case_id: result for result in card.results}
    pairs = {pair.case_id: pair for pair in against.pairs} if against is not None else {}
    reasons = {**{case_id: result.trial.reason for case_id, result in results.items()}, **dict(card.not_run)}
    entries = [
        CaseEntry(
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
    return RunReport(
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
    *(kind.value for kind in FailureKind),
    Outcome.ERROR.value,
    Outcome.SKIPPED.value,
    NOT_RUN,
    Outcome.PASSED.value,
)


def _urgency(entry: CaseEntry) -> tuple[bool, bool, int, str]:
    return not entry.regression, entry.flip != "lost", _ORDER.index(entry.kind), entry.case_id


def _rate(counts: Mapping[str, int]) -> PassRate:
    passed = counts.get(Outcome.PASSED.value, 0)
    verdicts = passed + counts.get(Outcome.FAILED.value, 0)
    return PassRate(passed, verdicts, wilson(passed, verdicts))


def scores(trial: Trial) -> tuple[float, ...]:
    """Return the scores of the judges that give one, in their order, from 0 to 1."""
    return tuple(verdict.score for verdict in trial.verdicts if verdict.score is not None)


def steps_of(record: Record, cases: Iterable[str], quarantine: Quarantine | None) -> dict[str, CaseStep]:
    """Return what these cases came to in a run, by id, of those that it has asked."""
    header: Header = record.header
    today = date.fromisoformat(header.date)
    found: dict[str, CaseStep] = {}
    trials = graded(record.trials)
    for case_id in cases:
        if (trial := trials.get(case_id)) is None:
            continue
        before = trial.row.box if trial.row else None
        after = review(trial.row, trial, today, quarantine) if header.writes else trial.row
        found[case_id] = CaseStep(
            run=header.run,
            day=header.date,
            outcome=trial.outcome,
            before=before,
            after=after and after.box,
            source=trial.source,
            scores=scores(trial),
            note=explanation(trial),
            answer=trial.answer.text if trial.answer else None,
        )
    return found
