"""What a session has learned when Ctrl-C comes: each trial is in memory and in the journal, and once."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from pytest_recall.plugin import learned
from pytest_recall.plugin.learned import TakenTrials
from pytest_recall.trials import journal as journal_module
from pytest_recall.trials.journal import Journal, read_journal
from tests.helpers.samples import header, trial

FILES = (learned.__file__, journal_module.__file__)


def interrupted(taken: TakenTrials, journal: Journal, before: int) -> bool:
    """Take a trial and press Ctrl-C before the line with this number; return whether there are so many."""
    left = before

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    tracing = sys.gettrace()
    sys.settrace(trace)
    try:
        taken.take(trial("b"), journal)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(tracing)
    return False


def test_wherever_an_interrupt_comes_a_trial_is_in_memory_as_often_as_in_the_journal(tmp_path: Path) -> None:
    lines, counts = 0, set()
    while True:
        folder = tmp_path / str(lines)
        folder.mkdir()
        taken = TakenTrials(lambda problem: None)
        with Journal(folder, header()) as journal:
            taken.take(trial("a"), journal)
            more = interrupted(taken, journal, lines)
            taken.complete()
        assert read_journal(folder).trials == tuple(taken.all)
        counts.add(len(taken.all))
        if not more:
            break
        lines += 1
    # Before its first line a trial has not come; from then on it is kept.
    assert counts == {1, 2}
    assert lines > 12


def test_what_cannot_be_written_is_told_and_not_written_again(tmp_path: Path) -> None:
    told: list[str] = []
    taken = TakenTrials(told.append)
    with Journal(tmp_path, header()) as journal, Path("/dev/full").open("wb", buffering=0) as full:
        file, journal._file = journal._file, full
        taken.take(trial("a"), journal)
        journal._file = file
        taken.complete()
    assert told == [f"{tmp_path}: a was not written (No space left on device)"]
    assert [one.case_id for one in taken.all] == ["a"]
