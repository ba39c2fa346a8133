"""The command `recall schedule select`: choose a slice, without running it."""

from __future__ import annotations

import argparse

from pytest_recall.cli.common import (
    Commands,
    add_files,
    add_filters,
    case_paths,
    command,
    context_of,
    marked_in,
    note_affected,
    place_of,
    say,
)
from pytest_recall.results.sentences import slice_line
from pytest_recall.runs.context import CommandLine, Filters
from pytest_recall.runs.plan import make_plan, with_marked


def add_select(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "select",
        "choose today's slice, print it and write it to eval/_artifacts/today.yaml, without running it",
        run_select,
        "If a file has the mark, pytest collects the marked tests first, which takes a moment.",
    )
    parser.add_argument("--mode", help="pr, nightly, all or observe (default: as `pytest -p recall` would have it)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--seed", help="what draws the new cases (default: the pull request, else the date)")
    add_filters(parser, "choose cases")
    parser.add_argument("--ids", action="store_true", help="print the ids only, one a line")
    add_files(parser)


def run_select(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date, seed=args.seed, mode=args.mode))
    wanted = Filters(scenarios=args.scenarios, dimensions=args.dimensions)
    note_affected(place, context, rubric)
    plan = make_plan(place, case_paths(place, args), context, rubric, wanted, complete=True)
    plan = with_marked(plan, marked_in(place))
    text = plan.today()
    place.artifacts.write("today.yaml", text)
    print("".join(f"{pick.case_id}\n" for pick in plan.picks) if args.ids else text, end="")
    say(slice_line(plan.header("", "")))
    return 0
