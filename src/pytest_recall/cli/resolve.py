"""`recall state resolve`: a state file with conflict markers becomes the merged state."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.schedule.merge_file import resolve

DETAILS = """\
In the middle of a merge or a rebase the versions come from git's index, else from between the
markers. Rows that both sides have changed get the verdicts of both, in the order of their days.
Markers that do not show the common version (merge.conflictStyle is not diff3) say less: then
the last verdict of the later side counts, and the lower box.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "resolve", "merge a state file that git has left with conflicts", run, DETAILS)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file (default: eval/recall.yaml)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.file is not None and args.dir is not None:
        raise RecallError("--dir has no effect with FILE; give one of them")
    if args.file is None:
        place = place_of(args)
        path, name = place.state, place.name(place.state)
    else:
        path, name = Path.cwd() / args.file, args.file.as_posix()
        place = Place(Path.cwd(), path.parent)
    if not path.exists():
        raise RecallError(f"{name}: no such file; give the path of the state file with the conflict")
    # A file elsewhere is no one's state, and needs no folder for a lock beside it.
    shared = path.name == place.state.name
    if shared:
        place.artifacts.make()
    with locked(place.lock) if shared else nullcontext():
        merged = resolve(path, name, datetime.now(UTC).date(), write=not args.dry_run)
    if merged is None:
        print(f"{name}: no conflict; nothing to do")
        return 0
    told = f"{plural(len(merged.state.rows), 'row')}, {merged.both} of them changed on both sides"
    if args.dry_run:
        print(f"{name}: would be merged: {told}")
    else:
        print(f"{name}: merged: {told}; next: `git add {name}`")
    return 0
