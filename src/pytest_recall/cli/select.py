"""`recall schedule select`: today's slice, without running it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_recall.cases.filters import Filters
from pytest_recall.cli.common import (
    Commands,
    add_files,
    add_near,
    case_paths,
    command,
    context_of,
    marked_in,
    names,
    near_of,
    place_of,
)
from pytest_recall.results.sentences import near, slice_line
from pytest_recall.runs.context import CommandLine
from pytest_recall.runs.plan import make_plan, take_marked


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "select",
        "choose today's slice, print it and write it to eval/_artifacts/today.yaml, without running it",
        run,
        "Marked tests are found by a collection, which needs a moment; none is run if no file has the mark.",
    )
    parser.add_argument("--mode", help="pr, nightly, all or observe (default: as `pytest -p recall` would have it)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--seed", help="what draws the new cases (default: the pull request, else the date)")
    parser.add_argument("--scenarios", default="", metavar="A,B", help="choose from these scenarios only")
    parser.add_argument("--dimensions", default="", metavar="A,B", help="choose from these dimensions only")
    parser.add_argument(
        "--base-state", type=Path, metavar="FILE", help="choose from this state file instead of recall.yaml"
    )
    add_near(parser)
    parser.add_argument("--ids", action="store_true", help="print the ids only, one a line")
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date, seed=args.seed, mode=args.mode))
    wanted = Filters(scenarios=names(args.scenarios), dimensions=names(args.dimensions))
    plan = make_plan(
        place,
        case_paths(place, args),
        context,
        rubric,
        wanted,
        complete=True,
        base_state=args.base_state,
        near=near_of(args),
    )
    take_marked(plan, marked_in(place))
    text = plan.today()
    place.artifacts.write("today.yaml", text)
    print("".join(f"{pick.case_id}\n" for pick in plan.picks) if args.ids else text, end="")
    header = plan.header("", "")
    print(f"recall: {slice_line(header)}", file=sys.stderr)
    if told := near(header):
        print(f"recall: {told}", file=sys.stderr)
    return 0
