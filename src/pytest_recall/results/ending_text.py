"""Word what went wrong in a trial."""

from __future__ import annotations

from typing import Any

from pytest_recall.models.outage import outage_text
from pytest_recall.trials.execution import Result
from pytest_recall.trials.series import parse_rule
from pytest_recall.trials.trial import Trial

_PHASES = ("setup", "teardown")
"""The stages that no exception names itself."""
_NO_CALLS = (
    "no verdict on the change: its recording has calls, and this run made none; a cache of the agent may have"
    " answered, so switch it off or empty it"
)


def ending_text(ended: Result | Trial) -> str:
    """Return why a trial has no verdict, by itself; for one that was skipped, why it was, and empty for a pass."""
    match ended.ended_by:
        case "outage" if ended.outage is not None:
            words = outage_text(ended.outage)
            return f"{ended.stage}: {words}" if ended.stage else words
        case "error-reply":
            return f"no verdict on the change, since the provider failed: {ended.error}"
        case "no-calls":
            return _NO_CALLS
        case "crash":
            return f"the worker died: {ended.error}"
        case "xfail":
            return f"expected to fail: {ended.error}"
    return f"{ended.stage}: {ended.error}" if ended.stage in _PHASES else ended.error


def explanation(trial: Trial) -> str:
    """Return what went wrong in the trial that grades a case: why it failed, or has no verdict. Empty for a pass."""
    if trial.outcome.is_verdict:
        return trial.note
    words = ending_text(trial)
    if trial.tally is None:
        return words
    counts = ", ".join(f"{count} {outcome}" for outcome, count in trial.tally.counts)
    ended = "was cut off" if trial.tally.cut_off else "came to no verdict"
    series = f"{parse_rule(trial.rule).name} {ended}: {counts}"
    return f"{series} ({words})" if words else series


def no_verdict_json(trial: Trial) -> dict[str, Any]:
    """Return what is known of a trial without a verdict, as JSON has it."""
    return {
        "id": trial.case_id,
        "outcome": trial.outcome.value,
        "note": trial.note,
        "ended_by": trial.ended_by or None,
        "stage": trial.stage or None,
        "outage": trial.outage and trial.outage._asdict(),
        "series": trial.tally
        and {"rule": trial.rule, "cut_off": trial.tally.cut_off, "counts": dict(trial.tally.counts)},
    }
