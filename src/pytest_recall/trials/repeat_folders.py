"""Name and find the folders of a run's repeats: its own is the first, and the others are in it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, takewhile
from pathlib import Path

from pytest_recall.trials.journal import Journal, is_begun, set_aside


def repeat_folder(folder: Path, number: int) -> Path:
    """Return the folder of a repeat, counted from 1."""
    return folder if number == 1 else folder / f"repeat-{number}"


def begun_repeats(folder: Path) -> list[Path]:
    """Return the folders of a run's repeats that have a journal, up to the first that has none."""
    return list(takewhile(is_begun, (repeat_folder(folder, number) for number in count(1))))


def set_aside_all(folder: Path, beside: Iterable[str] = ()) -> Path:
    """Move the journal of a run, what is `beside` it and its repeats into a folder of their own in it, and return that.

    Raises RecallError if another process is writing one of them, or OSError.
    """
    _, *further = begun_repeats(folder)
    for one in further:
        Journal.continued(one).close()
    there = set_aside(folder, beside)
    for one in further:
        one.rename(there / one.name)
    return there
