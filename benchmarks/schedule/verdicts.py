"""Ask a case as a run does: until the rule that confirms fails has come to a verdict."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.trials.series import AnyRule, graded
from pytest_recall.trials.trial import Outcome, Row, Trial


def verdict(case_id: str, row: Row | None, rule: AnyRule, passes: Callable[[], bool]) -> tuple[Trial, int]:
    """Return the trial that grades a case, and how many trials that took; `passes` draws the outcome of one."""
    own = rule.about(row)
    outcomes: list[Outcome] = []
    while not outcomes or own.decided(outcomes) is None:
        outcomes.append(Outcome.PASSED if passes() else Outcome.FAILED)
    series = [Trial(case_id, outcome, repeat=at, rule=str(own)) for at, outcome in enumerate(outcomes, start=1)]
    return graded(series)[case_id], len(series)


def is_fail(trial: Trial) -> bool:
    """Return whether the trial that grades a case is a fail that was confirmed."""
    return trial.outcome is Outcome.FAILED and not trial.is_doubted
