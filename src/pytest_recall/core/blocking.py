"""Blocking: why a run turns a check red, and what it has failed to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.core.errors import one_line
from pytest_recall.core.scorecard import NOT_RUN
from pytest_recall.core.trial import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_recall.core.gate import Blocks
    from pytest_recall.core.record import Record
    from pytest_recall.core.scorecard import Scorecard

ENDED = frozenset({0, 1, 5})
"""pytest's exit codes of a run that came to its end: all passed, some failed, nothing was collected."""
SHOWN = 5
"""Cases, tests and files that are named at the most."""


def troubles(record: Record, card: Scorecard, errors_allowed: float) -> list[str]:
    """Return why a run shows less than it should, a phrase each: what is no matter of a case's answer.

    More cases ended in an error than `errors_allowed`: a number, or below 1 a share of the chosen cases. A test beside
    the cases failed. pytest did not come to its end.
    """
    errors = card.with_outcome(Outcome.ERROR)
    chosen = len(card.results) + len(card.not_run)
    allowed = int(errors_allowed * chosen) if 0 < errors_allowed < 1 else int(errors_allowed)
    found = []
    if len(errors) > allowed:
        example = one_line(errors[0].trial.error, 160)
        found.append(f"{len(errors):,} of {chosen:,} cases without a verdict, {allowed:,} allowed ({example})")
    if record.also:
        found.append(f"beside the cases: {_named(record.also)}")
    if record.exit_code is not None and record.exit_code not in ENDED:
        found.append(f"pytest ended with {record.exit_code}{f': {record.why}' if record.why else ''}")
    return found


def blocking(record: Record, card: Scorecard, blocks: Blocks, errors_allowed: float = 0) -> list[str]:
    """Return why a run blocks a merge under the rule `blocks`, a phrase each; empty if it does not."""
    return [] if blocks == "never" else [*_failures(card, blocks), *troubles(record, card, errors_allowed)]


def _failures(card: Scorecard, blocks: Blocks) -> Iterator[str]:
    failed = [result for result in card.with_outcome(Outcome.FAILED) if result.blocks]
    wanted = [result for result in failed if result.regression or blocks != "regression"]
    if wanted:
        names = _named([result.trial.case_id for result in wanted])
        yield f"{'regressed' if blocks == 'regression' else 'failed'}: {names}"
    if blocks == "incomplete":
        skipped = len(card.with_outcome(Outcome.SKIPPED))
        if skipped or card.not_run:
            yield f"{skipped:,} skipped and {len(card.not_run):,} {NOT_RUN}"
    for standing in card.gates:
        if standing.stops(blocks):
            yield f"the gate of {standing.gate.name} is missed"


def _named(every: Sequence[str]) -> str:
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN:,} more" if every[SHOWN:] else "")
