"""`recall cassettes prune`: deletes the recordings of cases that are gone, and drafts that were left behind."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, add_files, case_paths, command, place_of
from pytest_recall.files.errors import RecallError, one_line
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.replay.cassette_file import Cassette, read_draft
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.commands.shelf import add_folder, library_of, scenarios_of, size, standing, titled
from pytest_recall.schedule.state import current

DETAILS = """\
A cassette is deleted only if all of this is so:
  - it is whole, and it is named after the case that its header says it is the recording of;
  - that case has a scenario, and an id as case files have it, so that it may have been in one;
  - it is in no case file, of which there is one at least, all of them read to their ends;
  - it has no row in the state. A case that is gone keeps its row until you delete it.
The recordings of marked tests and of fixtures cannot be known without running pytest. A marked
test has a row as soon as it came to a verdict in a scheduled run, and is safe from then on; until
then, and if it names a scenario, it looks like a case that is gone. See --dry-run first.

Drafts are deleted when they are more than a day old; `--drafts all` deletes them all, also those
that a run is writing now. Files of others are never touched.
"""
DAY = 24 * 60 * 60


class Doomed(NamedTuple):
    """A file that prune deletes, and why."""

    path: Path
    why: str
    is_draft: bool = False


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "prune", "delete the cassettes of cases that are gone, and old drafts", run, DETAILS)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    parser.add_argument(
        "--drafts", choices=("old", "all", "none"), default="old", help="which drafts to delete (default: old)"
    )
    add_folder(parser)
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    library = library_of(place, args)
    doomed, kept = _cassettes(library, place, args)
    doomed += _drafts(library, place, args.drafts)
    verb = "would delete" if args.dry_run else "deleted"
    freed = 0
    for one in doomed:
        freed += one.path.stat().st_size
        if not args.dry_run:
            one.path.unlink(missing_ok=True)
            if not one.is_draft:
                with suppress(OSError):
                    one.path.parent.rmdir()  # The folder of a scenario that has no recording any more.
        print(f"{verb}  {place.name(one.path)}  {one.why}")
    for line in kept:
        print(f"kept  {line}")
    drafts = sum(one.is_draft for one in doomed)
    counted = f"{plural(len(doomed) - drafts, 'cassette')} and {plural(drafts, 'draft')}, {size(freed)}"
    print(f"{verb} {counted}" if doomed else "nothing to delete")
    return 0


def _cassettes(library: Library, place: Place, args: argparse.Namespace) -> tuple[list[Doomed], list[str]]:
    """Return the cassettes of cases that are gone, and what to say of others that no case file knows."""
    scenarios = scenarios_of(place, args)
    rows = current(place).rows
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    doomed: list[Doomed] = []
    kept: list[str] = []
    for path in library.files():
        name = place.name(path)
        try:
            cassette = Cassette(path, name, rubric.rules())
            cassette.verify()
        except RecallError as error:
            kept.append(str(error))
            continue
        header = cassette.header
        if not library.fits(path, header):
            kept.append(f"{name}  not named after what it says it is the recording of, {titled(header)}")
            continue
        case = one_line(str(header.get("case")))
        match standing(header, scenarios, rows):
            case "gone":
                doomed.append(Doomed(path, f"no case `{case}`"))
            case "moved":
                kept.append(f"{name}  `{case}` is in the scenario {scenarios[header['case']]} now; record it there")
            case "row":
                kept.append(f"{name}  `{case}` is in no case file, and has a row in {place.name(place.state)}")
    if doomed and not case_paths(place, args):
        raise RecallError(
            f"{place.name(place.eval_dir)}: no case files, so that every case would be gone; give --dir or --files"
        )
    return doomed, kept


def _drafts(library: Library, place: Place, which: str) -> list[Doomed]:
    now = time.time()
    found = []
    for path in library.drafts() if which != "none" else ():
        age = now - path.stat().st_mtime
        if (which == "all" or age > DAY) and _is_ours(path, place):
            found.append(Doomed(path, f"draft, {plural(max(0, int(age // DAY)), 'day')} old", is_draft=True))
    return found


def _is_ours(path: Path, place: Place) -> bool:
    """Tell whether a file among the drafts was written by a recording; one that was killed at once left nothing."""
    try:
        header, _ = read_draft(path, place.name(path))
    except RecallError:
        return False
    return bool(header) or path.read_bytes()[:8] in (b"", b'{"crc":"')
