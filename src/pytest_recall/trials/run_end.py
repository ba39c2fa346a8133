"""Decide on the exit code of a run by what is found at its end, and define what extensions learn of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pytest_recall.trials.trial import Trial

RunFindingKind = Literal["failed", "nothing", "left", "missed", "lost"]
"""A case or the check of a change has `failed`, `nothing` was measured, something is `left` to ask or to judge, a gate
or a floor is `missed`, or what was asked is `lost`, and the same command asks it again."""


class RunFinding(NamedTuple):
    """What keeps the exit code of a command's run from 0."""

    kind: RunFindingKind
    text: str
    """The same as a sentence."""


def exit_code(found: Iterable[RunFindingKind]) -> int:
    """Return the exit code: 1 for what no further run makes good, or a gate that a whole run has missed, else 2."""
    kinds = {*found}
    if kinds & {"failed", "nothing"} or ("missed" in kinds and "left" not in kinds):
        return 1
    return 2 if kinds else 0


class FinishedRun(NamedTuple):
    """A run that has ended."""

    name: str
    """That of its folder."""
    exit_code: int
    """That of pytest."""
    trials: tuple[Trial, ...]
    """Of a run that was resumed, all of them."""
    scorecard: Mapping[str, Any]
    """As `scorecard.json` has it."""
