"""Decide on the exit code of a run without pytest, by what is found at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple


class RunFinding(NamedTuple):
    """What keeps the exit code of a run from 0."""

    kind: Literal["nothing", "left", "missed", "lost"]
    """`nothing` was measured, something is `left` to ask or to judge, a floor is `missed`, or what was asked is `lost`
    and asked again by the same command."""
    text: str
    """The same as a sentence."""


def exit_code(found: Iterable[RunFinding]) -> int:
    """Return the exit code: 1 where nothing was measured, or a floor is missed by a run that is whole, else 2."""
    kinds = {one.kind for one in found}
    if "nothing" in kinds or ("missed" in kinds and "left" not in kinds):
        return 1
    return 2 if kinds else 0
