"""How things stand after a run, in one sentence that every rendering has."""

from __future__ import annotations

from pytest_recall.files.wording import plural
from pytest_recall.results.scorecard import NOT_RUN, FailureKind, Scorecard
from pytest_recall.schedule.boxes import UNSCHEDULED
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome

_OTHERS = (Outcome.PASSED.value, Outcome.SKIPPED.value, NOT_RUN)


def headline(header: Header, card: Scorecard) -> str:
    """Return how things stand, in one sentence: what failed by what it is, what passed, and how all cases stand."""
    return "; ".join(part for part in (counts(card), pass_rate(header, card)) if part)


def counts(card: Scorecard) -> str:
    """Return what the cases of a run came to; that no case regressed is said first, unless none could have."""
    failures = {kind: len(results) for kind, results in card.failures().items()}
    parts = [counted(kind, count) for kind, count in failures.items()]
    if FailureKind.REGRESSION not in failures and any(
        result.trial.outcome.is_verdict and result.trial.reason not in UNSCHEDULED for result in card.results
    ):
        parts.insert(0, "no regression")
    if errors := card.counts.get(Outcome.ERROR.value):
        parts.append(plural(errors, "error"))
    parts += [f"{card.counts[name]:,} {name}" for name in _OTHERS if card.counts.get(name)]
    return ", ".join(parts) or "nothing run"


def pass_rate(header: Header, card: Scorecard) -> str:
    """Return the share of all cases that passed at their last verdict, rounded down; empty where it is not known."""
    found = card.last_verdicts(header)
    if found is None or not found.cases:
        return ""
    if not found.known:
        return f"none of {plural(found.cases, 'case')} has a verdict"
    share = 100 * found.passed // found.known
    rate = "under 1 %" if found.passed and not share else f"{share} %"
    if found.known < found.cases:
        return f"{rate} of the last verdicts pass, which {found.known:,} of {plural(found.cases, 'case')} have"
    every = "all " if found.cases > 1 else ""
    return f"{rate} of the last verdicts of {every}{plural(found.cases, 'case')} pass"


def counted(kind: FailureKind, count: int) -> str:
    """Return how many cases failed of one kind."""
    if kind in (FailureKind.REGRESSION, FailureKind.NEW, FailureKind.KNOWN):
        return plural(count, kind.value)
    return f"{count:,} {kind.value}"
