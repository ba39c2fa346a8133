"""Decide after a run which gates are missed and which failures block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cases.gate import Blocks, Gate, Status
from pytest_recall.metrics.intervals import Interval, wilson

if TYPE_CHECKING:
    from pytest_recall.trials.trial import Row, Trial


BEHIND = (
    "its requests are as on main: the provider, its data, or what a replay cannot see: timeouts, proxies, the network"
)
"""What a fail of a case is put down to that the change of a pull request does not affect."""
SAME_REQUEST = "it asks what the target branch asks as well, which is not recorded there"
"""Why a fail of a case that is behind on the target branch is not of the change."""


class Standing(NamedTuple):
    """How a gate stands."""

    gate: Gate
    cases: int
    verdicts: int
    """How many of the `cases` have a last known verdict."""
    passed: int
    """How many of these are passes."""
    fresh: int
    """How many of these are of this run, the others of earlier ones."""
    apart: int = 0
    """How many cases are in quarantine and not counted."""

    @property
    def rate(self) -> float | None:
        """The share that passed last, 0..1; None without a verdict."""
        return self.passed / self.verdicts if self.verdicts else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the rate (Wilson); None without a verdict."""
        return wilson(self.passed, self.verdicts)

    @property
    def status(self) -> Status:
        """Whether it holds. A rate of a few cases is none."""
        if self.rate is None or self.verdicts < min(self.gate.verdicts, self.cases):
            return "too few verdicts"
        return "held" if self.rate >= self.gate.at_least else "missed"

    def stops(self, blocks: Blocks) -> bool:
        """Whether it blocks a merge under the rule `blocks`."""
        if blocks == "never":
            return False
        return self.status == "missed" or (self.status != "held" and blocks == "incomplete")


def standings(
    gates: Iterable[Gate],
    cases: Mapping[str, tuple[str, str]],
    rows: Mapping[str, Row],
    graded: Mapping[str, Trial],
) -> tuple[Standing, ...]:
    """Return how `gates` stand over the last known verdict of each case.

    `cases` are all there are, by id with scenario and dimension: the rate of a slice is not that of all, since
    a slice prefers what has failed. `rows` is the state, `graded` the trial of each case in this run. What is
    no verdict, or one that counts for nothing, leaves the verdict before it standing, and is never a fail.
    """
    found = []
    for gate in gates:
        mine = [case_id for case_id, names in cases.items() if gate.covers(*names)]
        apart = [case_id for case_id in mine if case_id in rows and rows[case_id].quarantined is not None]
        left = set(mine) - set(apart)
        fresh = {case_id: passed for case_id in left if (passed := _verdict(graded.get(case_id))) is not None}
        known = {case_id: not rows[case_id].failing for case_id in left if case_id in rows} | fresh
        found.append(Standing(gate, len(left), len(known), sum(known.values()), len(fresh), len(apart)))
    return tuple(found)


def _verdict(trial: Trial | None) -> bool | None:
    if trial is None or trial.is_unproven or trial.programs or not trial.outcome.is_verdict:
        return None
    return trial.outcome.value == "passed"


def informs(blocks: str, row: Row | None, *, decides: bool = True, is_behind: bool = False) -> str:
    """Return why the failure of a case with this `row` only informs, under the rule `blocks`; empty if it blocks.

    A case `decides` the check of a pull request if its change affects it, or where that is not known. One that
    `is_behind` has asked what the target branch asks as well, and has not recorded.
    """
    if blocks == "never":
        return "it only informs: under `blocks: never` nothing blocks"
    if not decides:
        return f"it only informs: {BEHIND}"
    if is_behind:
        return f"it only informs: {SAME_REQUEST}"
    if blocks != "regression" or (row is not None and not row.failing):
        return ""
    known = "this is its first verdict" if row is None else "it failed before"
    return f"it only informs: under `blocks: regression` only a regression blocks, and {known}"


def loosened(before: Iterable[Gate], now: Iterable[Gate]) -> list[str]:
    """Return which gates ask for less than `before`, a sentence each."""
    left = {gate.about: gate for gate in now}
    told = []
    for old in before:
        new = left.get(old.about)
        if new is None:
            told.append(f"gate `{old.name}` at {old.at_least:g} taken away by this change")
            continue
        if new.at_least < old.at_least:
            told.append(f"gate `{old.name}` lowered from {old.at_least:g} to {new.at_least:g} by this change")
        if new.verdicts > old.verdicts:
            told.append(f"gate `{old.name}` needs {new.verdicts} verdicts since this change, and not {old.verdicts}")
    return told
