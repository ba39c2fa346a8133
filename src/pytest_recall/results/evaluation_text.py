"""Word why a check is not evaluated, as a whole or a case of it."""

from __future__ import annotations

from pytest_recall.files.wording import budget_words, one_line
from pytest_recall.results.ending_text import explanation
from pytest_recall.trials.record import Header, NotCompared, NotEvaluated
from pytest_recall.trials.trial import Trial


def not_compared_text(found: NotCompared) -> str:
    """Return why a check cannot say what a change breaks, and what to do."""
    match found.cause:
        case "no-repository":
            return "there is no git repository here"
        case "no-commit":
            return (
                f"`{found.detail}` is no commit in this clone; correct it or fetch it"
                " (with actions/checkout: `fetch-depth: 0`)"
            )
        case "no-common-commit":
            return (
                f"`{found.detail}` and HEAD have no commit in common in this clone; fetch more of the history"
                " (with actions/checkout: `fetch-depth: 0`)"
            )
        case "chosen":
            return (
                f"the cases are chosen by {found.detail}, and not by what the change affects; leave that out, or"
                " split a run with --recall-shard"
            )
    return found.detail


def not_evaluated_text(header: Header, found: NotEvaluated, trial: Trial | None) -> str:
    """Return why a case has no verdict, whose `trial` there is if it was asked."""
    if trial is not None and found.cause != "call":
        return one_line(explanation(trial), 160) or found.cause
    match found.cause:
        case "budget" if header.budget is not None:
            return f"{budget_words(header.budget)} does not reach it"
        case "budget":
            return "the budget does not reach it"
        case "not-run":
            return "not run"
        case "call":
            did = "refuses the key" if found.detail in ("http-401", "http-403") else "did not answer"
            return f"the provider {did}: {found.detail.removeprefix('http-')}"
    return found.cause
