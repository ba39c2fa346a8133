"""Merged state: three texts of the state file become one."""

from __future__ import annotations

from typing import NamedTuple

from pytest_recall.core import unanswered
from pytest_recall.core.errors import RecallError
from pytest_recall.core.merge_rows import merge_rows
from pytest_recall.core.schedule import Quarantine
from pytest_recall.store.state import State, parse_state


class Merged(NamedTuple):
    """A merged state, and how many rows both sides had changed, each in its own way."""

    state: State
    both: int

    @property
    def text(self) -> str:
        """What is written."""
        return self.state.text


def merge_texts(base: str | None, ours: str, theirs: str, name: str, quarantine: Quarantine | None = None) -> Merged:
    """Return the state after all that both sides have seen; `base` is what they began with, None if not known.

    Comments and further keys at the top are those of `ours`, unless only `theirs` has changed them. Raises
    RecallError for a side that is no state; a base that is none counts as not known.
    """
    mine, other = parse_state(ours, f"{name} (ours)"), parse_state(theirs, f"{name} (theirs)")
    try:
        before = None if base is None else parse_state(base, f"{name} (base)")
    except RecallError:
        before = None
    known = None if before is None else before.rows
    merged = merge_rows(known, mine.rows, other.rows, quarantine)
    if not mine.rows or (before is not None and mine.preamble == before.preamble != other.preamble):
        mine, other = other, mine
    folded = sorted({*mine.folded, *other.folded})
    waiting = unanswered.merged({} if before is None else before.unanswered, mine.unanswered, other.unanswered)
    text = mine.updated(merged, removed=mine.rows.keys() - merged.keys(), folded=folded, unanswered=waiting)
    both = sum(
        1
        for case_id in mine.rows.keys() & other.rows.keys()
        if mine.rows[case_id] != other.rows[case_id]
        and not (known is not None and known.get(case_id) in (mine.rows[case_id], other.rows[case_id]))
    )
    return Merged(parse_state(text, name), both)
