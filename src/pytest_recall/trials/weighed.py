"""Define WeighedTrials: the passes and fails behind a verdict under `confirm: evidence`."""

from __future__ import annotations

from typing import NamedTuple


class WeighedTrials(NamedTuple):
    """The trials of a run that came to a verdict, in their order, with True for a pass, and the ratio `needed`.

    `doubt` says why a fail is not confirmed; empty if it is, or there was none.
    """

    passes: tuple[bool, ...]
    needed: int
    doubt: str = ""
