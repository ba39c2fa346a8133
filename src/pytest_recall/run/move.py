"""Move: rows of cases that have another id now, and rows that are to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.core.moved import continued
from pytest_recall.run.place import Place
from pytest_recall.run.state import unfolded
from pytest_recall.store.journal import read_journal
from pytest_recall.store.state import State, read_state, write_state


def move(place: Place, pairs: Iterable[tuple[str, str]], *, write: bool) -> None:
    """Have the cases go on under their new ids, as (old, new), in the state, whose lock the caller holds.

    Raises RecallError, and then has changed nothing, for an id without a row, or one that event files have verdicts on.
    """
    state, ids = _state(place), dict(pairs)
    _check(place, state, ids)
    rows = {new: continued(state.rows[old], state.rows.get(new)) for old, new in ids.items()}
    _write(place, state, state.updated(rows, removed=ids.keys()), write)


def forget(place: Place, ids: Iterable[str], *, write: bool) -> None:
    """Delete rows from the state, whose lock the caller holds. Raises RecallError as `move` does."""
    state, gone = _state(place), set(ids)
    _check(place, state, gone)
    waiting = {case_id: one for case_id, one in state.unanswered.items() if case_id not in gone}
    _write(place, state, state.updated({}, removed=gone, unanswered=waiting), write)


def told_by_newest_run(place: Place) -> list[tuple[str, str]]:
    """Return the ids that the newest run has found to be new ones of cases with a row, as (old, new)."""
    runs = place.artifacts.runs()
    return list(read_journal(runs[-1]).header.moved) if runs else []


def _state(place: Place) -> State:
    return read_state(place.state, place.name(place.state))


def _check(place: Place, state: State, ids: Iterable[str]) -> None:
    name = place.name(place.state)
    if lost := sorted(set(ids) - state.rows.keys()):
        raise RecallError(*(f"{name}: no row of `{case_id}`{nearest(case_id, state.rows)}" for case_id in lost))
    waiting = unfolded(place, state)
    told = {event.case_id for events in waiting.values() for event in events.verdicts}
    if found := sorted(told & set(ids)):
        raise RecallError(
            f"{place.name(place.events)}: has verdicts on `{found[0]}` that are not in {name} yet; run"
            " `recall fold --keep-days 0` first"
        )


def _write(place: Place, state: State, text: str, write: bool) -> None:
    if write and text != state.text:
        write_state(place.state, text)
