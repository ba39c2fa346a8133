"""Blocking: why a run turns a check red, and what it has failed to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.core.errors import one_line
from pytest_recall.core.schedule import UNSCHEDULED
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


def troubles(record: Record, card: Scorecard, allowed: float) -> list[str]:
    """Return why a run shows less than it should, a phrase each: what is no matter of a case's answer.

    More of the chosen cases than `allowed`, a number or below 1 a share of them, have no verdict. A test beside
    the cases failed. pytest did not come to its end.
    """
    errors, skipped = (card.with_outcome(outcome) for outcome in (Outcome.ERROR, Outcome.SKIPPED))
    # Questions of a dataset that no judge at hand can decide are skipped, and its table counts them.
    skipped = [result for result in skipped if result.trial.reason not in UNSCHEDULED]
    chosen = len(card.results) + len(card.not_run)
    most = int(allowed * chosen) if 0 < allowed < 1 else int(allowed)
    kinds = {"error": len(errors), "skipped": len(skipped), NOT_RUN: len(card.not_run)}
    missing = sum(kinds.values())
    found = []
    if missing > most:
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
        said = next((one_line(result.trial.error, 160) for result in (*errors, *skipped) if result.trial.error), "")
        why = f" ({said or record.why})" if said or record.why else ""
        found.append(f"{missing:,} of {chosen:,} cases without a verdict, {most:,} allowed: {told}{why}")
    if record.also:
        found.append(f"beside the cases: {_named(record.also)}")
    if record.exit_code is not None and record.exit_code not in ENDED:
        found.append(f"pytest ended with {record.exit_code}{f': {record.why}' if record.why else ''}")
    return found


def blocking(record: Record, card: Scorecard, blocks: Blocks, allowed: float = 0) -> list[str]:
    """Return why a run blocks a merge under the rule `blocks`, a phrase each; empty if it does not.

    Under `incomplete` no case without a verdict is `allowed`.
    """
    if blocks == "never":
        return []
    return [*_failures(card, blocks), *troubles(record, card, 0 if blocks == "incomplete" else allowed)]


def _failures(card: Scorecard, blocks: Blocks) -> Iterator[str]:
    failed = [result for result in card.with_outcome(Outcome.FAILED) if result.blocks]
    wanted = [result for result in failed if result.regression or blocks != "regression"]
    if wanted:
        names = _named([result.trial.case_id for result in wanted])
        yield f"{'regressed' if blocks == 'regression' else 'failed'}: {names}"
    for standing in card.gates:
        if standing.stops(blocks):
            yield f"the gate of {standing.gate.name} is missed"


def _named(every: Sequence[str]) -> str:
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN:,} more" if every[SHOWN:] else "")
