"""Journals and states on disk, for the tests of how one becomes the other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state_file import State, read_state
from pytest_recall.trials.journal import Journal
from pytest_recall.trials.trial import Row, Trial
from tests.helpers.samples import header

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def journal(place: Place, *trials: Trial, ended: bool = True, **more: Any) -> Path:
    """Write the journal of a run and return its folder."""
    folder = place.artifacts.new_run(NOON)
    picks = tuple((one.case_id, "due") for one in trials)
    with Journal(folder, header(*picks, **{"run": folder.name, **more})) as written:
        for one in trials:
            written.append(one)
        if ended:
            written.end(0)
    return folder


def rows(place: Place) -> dict[str, Row]:
    """Return the rows of the state file."""
    return read_state(place.state, "recall.yaml").rows


def boxes(place: Place) -> dict[str, tuple[int, int]]:
    """Return box and streak of each case in the state file."""
    return {case_id: (r.box, r.pass_streak) for case_id, r in rows(place).items()}


def remember(place: Place, known: dict[str, Row]) -> None:
    """Write the state file."""
    place.state.write_text(State({}, "").updated(known), encoding="utf-8")
