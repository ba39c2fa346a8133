"""Merge: the state file of two branches, for git while it merges and for people afterwards."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pytest_recall.core.errors import RecallError
from pytest_recall.core.schedule import Quarantine
from pytest_recall.run.state import check_dates
from pytest_recall.store import gitmerge
from pytest_recall.store.conflict import versions
from pytest_recall.store.files import read_text
from pytest_recall.store.merged import Merged, merge_texts
from pytest_recall.store.rubric import read_rubric
from pytest_recall.store.state import write_state


def drive(base: Path, ours: Path, theirs: Path, name: str, today: date) -> None:
    """Merge three files as git has laid them out, into `ours`; `name` is the path of what they are versions of.

    Raises RecallError for a file that is no state, or has rows of days after `today`; `ours` has then been merged
    line by line, with conflict markers.
    """
    rubric = Path(name).parent / "rubric.yaml"
    try:
        sides = ((base, "base"), (ours, "ours"), (theirs, "theirs"))
        before, mine, other = (read_text(path, f"{name} ({side})") for path, side in sides)
        merged = merge_texts(before, mine, other, name, _quarantine(rubric))
        check_dates(merged.state, today, name)
    except RecallError as error:
        left = "conflict markers are" if gitmerge.merge_lines(ours, base, theirs) else "your side is"
        raise RecallError(*error.messages[:-1], f"{error.messages[-1]}; {left} left in {name}") from None
    write_state(ours, merged.text)


def resolve(path: Path, name: str, today: date, *, write: bool) -> Merged | None:
    """Merge the versions in the conflicted file at `path`, or those that git keeps; None if there is nothing to do.

    Raises RecallError, and then has changed nothing.
    """
    text = read_text(path, name)
    found = gitmerge.stages(path)
    marked = versions(text, name)
    if found is not None and (marked.hunks or text == found.get(2)):
        # A side without the file has no rows to add; it has not deleted each of them either.
        ours, theirs = (found.get(side, found.get(5 - side, "")) for side in (2, 3))
        base: str | None = found.get(1, "")
    elif marked.hunks:
        base, ours, theirs, _ = marked
    else:
        return None
    merged = merge_texts(base, ours, theirs, name, _quarantine(path.parent / "rubric.yaml"))
    check_dates(merged.state, today, name)
    if write:
        write_state(path, merged.text)
    return merged


def _quarantine(path: Path) -> Quarantine | None:
    """Return when cases are set apart, as the rubric there says; None where it cannot be read, as in a merge of it."""
    try:
        rubric = read_rubric(path, str(path))
    except RecallError:
        return None
    return rubric.quarantine
