"""`recall status`: how the cases stand, and what is due when."""

from __future__ import annotations

import argparse
import json

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, days, marked_in, place_of
from pytest_recall.runs.context import CommandLine
from pytest_recall.schedule.forecast import forecast
from pytest_recall.schedule.schedule_text import terminal
from pytest_recall.schedule.state import current


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "status", "show how many cases are in each box, and how many fall due on each day", run)
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the first day (default: today in UTC)")
    parser.add_argument("--days", type=days, default=30, metavar="N", help="how many days ahead (default: 30)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, _ = context_of(place, CommandLine(date=args.date))
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    state = current(place)
    known = {case_id for file in files for case_id in file.lines} | marked_in(place).keys()
    found = forecast(known, state.rows, context.date, args.days, state.unanswered)
    print(json.dumps(found.to_json(), indent=2) if args.json else "\n".join(terminal(found)))
    return 0
