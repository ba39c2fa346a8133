"""Failures of a run as terminal lines, and how things stand in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent

from pytest_recall.files.errors import one_line
from pytest_recall.results import regressions_text
from pytest_recall.results.page import (
    OPEN,
    TITLES,
    moved,
)
from pytest_recall.results.scorecard import CaseResult, Scorecard
from pytest_recall.results.sentences import counted
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome, Trial

MAX_WHOLE = 20
"""Cases of each kind that are shown whole, unless more is asked for; the next ones have a line each."""

MAX_TERMINAL = 100
"""Cases of each kind that are listed."""


def failed(header: Header, card: Scorecard, verbosity: int, shown: Mapping[str, str], command: str) -> Iterator[str]:
    """Yield the failed cases by what they are; `command` lists those that are folded to a line.

    Where a person chose the cases, all of them are shown.
    """
    folded = {}
    for kind, results in card.failures().items():
        whole = kind in OPEN or not header.scheduled
        if not whole and verbosity <= 0:
            folded[kind] = len(results)
            continue
        yield f"{TITLES.get(kind, kind.value)} ({len(results)}):"
        most = 0 if verbosity < -1 or not whole else len(results) if verbosity > 0 else MAX_WHOLE
        for number, result in enumerate(results[: max(most, MAX_TERMINAL)]):
            yield from _whole(header, card, result, shown) if number < most else (_line(header, result),)
        if (more := len(results) - max(most, MAX_TERMINAL)) > 0:
            yield f"  and {more} more in scorecard.md"
    if folded:
        told = ", ".join(counted(kind, count) for kind, count in folded.items())
        yield f"{told}: `{command}` {'shows it' if sum(folded.values()) == 1 else 'lists them'}"


def undecided(card: Scorecard, verbosity: int, shown: Mapping[str, str]) -> Iterator[str]:
    """Yield the cases that came to no verdict; errors with what pytest has to show of them."""
    results = card.with_outcome(Outcome.ERROR, Outcome.SKIPPED)
    if not results:
        return
    yield f"no verdict ({len(results)}), no box moved:"
    most = 0 if verbosity < -1 else len(results) if verbosity > 0 else MAX_WHOLE
    for number, result in enumerate(results[: max(most, MAX_TERMINAL)]):
        trial = result.trial
        text = shown.get(trial.case_id, "") if trial.outcome is Outcome.ERROR and number < most else ""
        first, _, rest = text.partition("\n")
        if not first or trial.error[:40] not in first:  # A traceback says last what it is about.
            why = one_line(trial.error, 140)
            first, rest = _placed(trial, why) if trial.outcome is Outcome.ERROR else why, text
        yield f"  {trial.outcome}: {trial.case_id}: {first}"
        yield from indent(rest, "      ").splitlines()
    if (more := len(results) - max(most, MAX_TERMINAL)) > 0:
        yield f"  and {more} more in scorecard.md"


def _whole(header: Header, card: Scorecard, result: CaseResult, shown: Mapping[str, str]) -> Iterator[str]:
    trial = result.trial
    yield f"  {trial.case_id} ({moved(header, result)})"
    text = shown.get(trial.case_id) or _placed(trial, one_line(trial.note, 300))
    yield from indent(text, "      ").splitlines()
    if result.regression:
        yield from (f"      {line}" for line in regressions_text.lines(card, result))


def _placed(trial: Trial, text: str) -> str:
    return f"{trial.where}: {text}" if trial.where else text


def _line(header: Header, result: CaseResult) -> str:
    trial = result.trial
    return "  " + one_line(f"{trial.case_id} ({moved(header, result)}): {trial.note}", 150)
