"""`recall cassettes`: what is recorded, whether it is whole, what it gives away, and what is not needed."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, add_files, command, context_of, place_of
from pytest_recall.files.errors import RecallError, one_line
from pytest_recall.files.wording import plural
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.commands import shelf as cassette_shelf
from pytest_recall.replay.commands.shelf import add_folder, library_of
from pytest_recall.runs.context import CommandLine
from pytest_recall.schedule.state import current

LIST = """\
The age is that of the oldest call. An orphan is the recording of a case that is in no case file
and has no row in the state, or that is in another scenario by now; `recall cassettes prune` deletes
the former. An unfinished draft was left behind by a run that was killed, or by a test that failed;
`pytest -p recall eval --record=missing` takes up what it holds.
"""
VERIFY = """\
Reads every line of every cassette. Exits with 1 if one is damaged, cut off, of another version,
or not named after the case that it is the recording of.
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    listing = command(commands, "list", "list the cassettes, with their age and models", run_list, LIST)
    listing.add_argument("--date", metavar="YYYY-MM-DD", help="the day to count ages to (default: today in UTC)")
    listing.add_argument("--json", action="store_true", help="print JSON")
    add_folder(listing)
    add_files(listing)
    verify = command(commands, "verify", "read each cassette to its end, and say which are damaged", run_verify, VERIFY)
    verify.add_argument("--json", action="store_true", help="print JSON")
    add_folder(verify)


def run_list(args: argparse.Namespace) -> int:
    """Run `recall cassettes list`."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date))
    library = library_of(place, args)
    scenarios = cassette_shelf.scenarios_of(place, args)
    rows = current(place).rows
    found = cassette_shelf.entries(library, place, rubric.rules(), scenarios, rows)
    if args.json:
        print(json.dumps({"date": str(context.date), "cassettes": [_plain(entry) for entry in found]}, indent=2))
    elif found:
        print(f"{place.name(library.folder)} on {context.date}")
        print("\n".join(cassette_shelf.table(found, scenarios, context.date)))
    else:
        where = place.name(place.eval_dir)
        print(f"{place.name(library.folder)}: no cassettes; `pytest -p recall {where} --record` records them")
    return 0


def _plain(entry: cassette_shelf.ShelfEntry) -> dict[str, Any]:
    header = {name: entry.header[name] for name in ("case", "scenario", "fixture", "scope") if name in entry.header}
    return {
        "path": entry.name,
        **header,
        "standing": entry.standing,
        "draft": entry.is_draft,
        "calls": entry.calls,
        "bytes": entry.size,
        "recorded_at": entry.header.get("recorded_at"),
        "since": entry.since and str(entry.since),
        "models": list(entry.models),
        **({"problem": entry.problem} if entry.problem else {}),
    }


def run_verify(args: argparse.Namespace) -> int:
    """Run `recall cassettes verify`."""
    place = place_of(args)
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    library, rules = library_of(place, args), rubric.rules()
    paths = library.files()
    problems: list[str] = []
    calls = 0
    for path in paths:
        name = place.name(path)
        try:
            cassette = Cassette(path, name, rules)
            cassette.verify()
            calls += len(cassette)
            if not library.fits(path, cassette.header):
                problems.append(f"{name}:1: {_misnamed(library, cassette.header, place.name)}")
        except RecallError as error:
            problems += error.messages
    if args.json:
        print(json.dumps({"cassettes": len(paths), "calls": calls, "problems": problems}, indent=2))
    elif problems:
        print("\n".join([*problems, f"{len(problems)} of {plural(len(paths), 'cassette')} cannot be relied on"]))
    else:
        print(f"{plural(len(paths), 'cassette')}, {plural(calls, 'call')}: all in order")
    return int(bool(problems))


def _misnamed(library: Library, header: dict[str, Any], name: Any) -> str:
    own = library.of_header(header)
    if own is not None:
        case_id = one_line(header["case"])
        return f"is the recording of `{case_id}`, which belongs in {name(own)}; move it there, or record it again"
    if isinstance(header.get("fixture"), str):
        return f"is not named after its fixture `{one_line(header['fixture'])}`; record it again"
    return "does not say whose recording it is; record it again"
