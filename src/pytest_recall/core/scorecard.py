"""Scorecard: the summary of a run's trials, with what the slice could not see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.core.calibration import Calibration, JudgeKey, Panels, panels
from pytest_recall.core.schedule import review
from pytest_recall.core.trial import Outcome, Trial
from pytest_recall.metrics.stats import unseen_share

NOT_RUN = "not run"


class Result(NamedTuple):
    """What a case came to in a run: its grading trial, and its box before and after.

    `before` and `after` are None where the schedule does not know the case, or nothing
    moved it. `regression` marks a fail of a case whose last verdict was a pass.
    """

    trial: Trial
    attempts: int
    before: int | None
    after: int | None
    regression: bool


class Scorecard(NamedTuple):
    """A run in numbers and lists. Counts are by outcome; absent is not zero.

    `table` maps a reason, a scenario or a dimension to its counts; `unseen` is the largest
    share of cases that a change could have broken with none of them in the slice;
    `sources` counts verdicts by where the answer came from, `unmoved` those that are no
    evidence, because it was replayed; `panels` is what models judged.
    """

    results: tuple[Result, ...]
    not_run: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    by_reason: dict[str, dict[str, int]]
    by_scenario: dict[str, dict[str, int]]
    by_dimension: dict[str, dict[str, int]]
    unseen: float | None
    sources: Mapping[str, int] = MappingProxyType({})
    unmoved: int = 0
    panels: Panels = Panels()

    def with_outcome(self, *outcomes: Outcome) -> list[Result]:
        """Return the results with one of `outcomes`, regressions first, then by id."""
        wanted = [result for result in self.results if result.trial.outcome in outcomes]
        return sorted(wanted, key=lambda result: (not result.regression, result.trial.case_id))


def summarize(
    trials: Iterable[Trial],
    picks: Iterable[tuple[str, str]],
    total: int,
    today: date,
    calibrations: Mapping[JudgeKey, Calibration] = MappingProxyType({}),
) -> Scorecard:
    """Return the scorecard of `trials`, in a run that chose `picks` from `total` cases.

    With several attempts at a case the last one grades it. `calibrations` are of the judges
    that have been compared with people.
    """
    attempts: dict[str, list[Trial]] = {}
    for trial in trials:
        attempts.setdefault(trial.case_id, []).append(trial)
    results = tuple(_result(tries, today) for tries in attempts.values())
    not_run = tuple((case_id, reason) for case_id, reason in picks if case_id not in attempts)
    by_reason = _table(results, lambda trial: trial.reason)
    for _, reason in not_run:
        by_reason.setdefault(reason, {})[NOT_RUN] = by_reason.get(reason, {}).get(NOT_RUN, 0) + 1
    verdicts = sum(result.trial.outcome.is_verdict for result in results)
    counts = dict(Counter(result.trial.outcome.value for result in results))
    if not_run:
        counts[NOT_RUN] = len(not_run)
    return Scorecard(
        results=results,
        not_run=not_run,
        counts=counts,
        by_reason=by_reason,
        by_scenario=_table(results, lambda trial: trial.scenario),
        by_dimension=_table(results, lambda trial: trial.dimension),
        unseen=unseen_share(verdicts, total),
        sources=dict(Counter(result.trial.source for result in results if result.trial.outcome.is_verdict)),
        unmoved=sum(result.trial.outcome.is_verdict and not result.trial.evidence for result in results),
        panels=panels(
            (result.trial for result in results),
            calibrations,
            (trial for tries in attempts.values() for trial in tries[:-1]),
        ),
    )


def _result(tries: list[Trial], today: date) -> Result:
    trial = tries[-1]
    row = trial.row
    after = review(row, trial, today)
    failed = trial.outcome is Outcome.FAILED
    return Result(
        trial=trial,
        attempts=len(tries),
        before=row.box if row else None,
        after=after.box if after else None,
        regression=failed and row is not None and not row.failing,
    )


def _table(results: Iterable[Result], key: Callable[[Trial], str]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = {}
    for result in results:
        if name := key(result.trial):
            table.setdefault(name, Counter())[result.trial.outcome.value] += 1
    return {name: dict(table[name]) for name in sorted(table)}
