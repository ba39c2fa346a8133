"""Merge the state file of two branches, for git while it merges and for people afterwards."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.git import merge_lines, set_setting, setting, stages, top
from pytest_recall.schedule import selection
from pytest_recall.schedule.merge import merge_rows
from pytest_recall.schedule.state import check_dates
from pytest_recall.schedule.state_file import State, parse_state, write_state

ATTRIBUTES = ".gitattributes"
DRIVER = "recall"


def teach(eval_dir: Path, *, write: bool) -> dict[str, bool]:
    """Give the state file its merge driver: in .gitattributes, and in the settings of the clone.

    Returns what was looked at, and whether it had to be changed. Without `write` nothing is. Raises RecallError
    where there is no clone, or the state file has another driver.
    """
    around = next(folder for folder in (eval_dir, *eval_dir.parents) if folder.is_dir())
    root = top(around)
    if root is None:
        raise RecallError(f"{eval_dir}: not in a git repository; run `git init` first")
    state = (eval_dir.resolve() / "recall.yaml").relative_to(root.resolve()).as_posix()
    done = {ATTRIBUTES: _attribute(root / ATTRIBUTES, state, write=write)}
    # The command first: with a name and no command git refuses to merge at all.
    settings = {
        f"merge.{DRIVER}.driver": driver(),
        f"merge.{DRIVER}.name": "pytest-recall: the rows of a state file",
    }
    for name, value in settings.items():
        changed = setting(root, name) != value
        if changed and write:
            set_setting(root, name, value)
        done[f"git config {name}"] = changed
    return done


def _attribute(path: Path, state: str, *, write: bool) -> bool:
    text = read_text(path, ATTRIBUTES) if path.exists() else ""
    pattern = f'"{state}"' if re.search(r'[\s"]', state) else state
    for number, line in enumerate(text.splitlines(), start=1):
        given = line.split()
        if line.startswith((f"{pattern} ", f"/{pattern} ", f"{pattern}\t")):
            if f"merge={DRIVER}" in given:
                return False
            if any(one.startswith(("merge", "-merge", "!merge")) for one in given[1:]):
                raise RecallError(
                    f"{ATTRIBUTES}:{number}: {state} is merged in another way; write `{pattern} merge={DRIVER}`"
                )
    if write:
        gap = "" if not text or text.endswith("\n") else "\n"
        write_text(path, f"{text}{gap}{pattern} merge={DRIVER}\n")
    return True


def driver() -> str:
    """Return the command for git: this installation's, or git's own merge by lines once that is gone."""
    program = Path(sys.executable).with_name("recall")
    given = [program.as_posix()] if program.exists() else [Path(sys.executable).as_posix(), "-m", "pytest_recall"]
    first, whole = shlex.quote(given[0]), shlex.join(given)
    return f"if test -x {first}; then {whole} state merge-driver %O %A %B %P; else git merge-file %A %O %B; fi"


_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?\n?")


class Versions(NamedTuple):
    """What a file was on each side; `base` is None where the markers do not show what both began with."""

    base: str | None
    ours: str
    theirs: str
    hunks: int


def versions(text: str, name: str) -> Versions:
    """Return the versions in a text with markers, of two sides or, in the styles diff3 and zdiff3, with the base.

    Raises RecallError for markers that do not fit together.
    """
    sides: dict[str, list[str]] = {"base": [], "ours": [], "theirs": []}
    within, begun, hunks, bases = "", 0, 0, 0
    follows = {"<": ("",), "|": ("ours",), "=": ("ours", "base"), ">": ("theirs",)}
    becomes = {"<": "ours", "|": "base", "=": "theirs", ">": ""}
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        marker = _MARKER.fullmatch(line)
        if marker is None:
            for side in (within,) if within else sides:
                sides[side].append(line)
            continue
        sign = marker[1][0]
        if within not in follows[sign]:
            raise RecallError(f"{name}:{number}: `{marker[1]}` has no place here; resolve the conflict by hand")
        within = becomes[sign]
        if sign == "<":
            begun, hunks = number, hunks + 1
        bases += sign == "|"
    if within:
        raise RecallError(f"{name}:{begun}: the conflict has no end; resolve it by hand, or take the file from git")
    base = "".join(sides["base"]) if bases == hunks else None
    return Versions(base, "".join(sides["ours"]), "".join(sides["theirs"]), hunks)


class MergedState(NamedTuple):
    """A merged state, and how many rows both sides had changed, each in its own way."""

    state: State
    both: int

    @property
    def text(self) -> str:
        """What is written."""
        return self.state.text


def merge_texts(
    base: str | None, ours: str, theirs: str, name: str, quarantine: Quarantine | None = None
) -> MergedState:
    """Return the state after all that both sides have seen; `base` is what they began with, None if not known.

    Comments and further keys at the top are those of `ours`, unless only `theirs` has changed them. Raises
    RecallError for a side that is not a state; a base that is none counts as not known.
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
    waiting = selection.merged_unanswered(
        {} if before is None else before.unanswered, mine.unanswered, other.unanswered
    )
    gone = mine.rows.keys() - merged.keys()
    text = mine.updated(merged, removed=gone, folded=folded, unanswered=waiting)
    both = sum(
        1
        for case_id in mine.rows.keys() & other.rows.keys()
        if mine.rows[case_id] != other.rows[case_id]
        and not (known is not None and known.get(case_id) in (mine.rows[case_id], other.rows[case_id]))
    )
    return MergedState(parse_state(text, name), both)


def drive(base: Path, ours: Path, theirs: Path, name: str, today: date) -> None:
    """Merge three files as git has laid them out, into `ours`; `name` is the path of what they are versions of.

    Raises RecallError for a file that is not a state, or has rows of days after `today`; `ours` has then been merged
    line by line, with conflict markers.
    """
    rubric = Path(name).parent / "rubric.yaml"
    try:
        sides = ((base, "base"), (ours, "ours"), (theirs, "theirs"))
        before, mine, other = (read_text(path, f"{name} ({side})") for path, side in sides)
        merged = merge_texts(before, mine, other, name, _quarantine(rubric))
        check_dates(merged.state, today, name)
    except RecallError as error:
        left = "conflict markers are" if merge_lines(ours, base, theirs) else "your side is"
        raise RecallError(*error.messages[:-1], f"{error.messages[-1]}; {left} left in {name}") from None
    write_state(ours, merged.text)


def resolve(path: Path, name: str, today: date, *, write: bool) -> MergedState | None:
    """Merge the versions in the conflicted file at `path`, or those that git keeps; None if there is nothing to do.

    Raises RecallError, and then has changed nothing.
    """
    text = read_text(path, name)
    found = stages(path)
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
        rubric = read_settings(path, str(path))
    except RecallError:
        return None
    return rubric.quarantine
