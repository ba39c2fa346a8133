"""`recall estimate`: what today's slice will cost and how long it will take, before anything is spent."""

from __future__ import annotations

import argparse
import json
import sys

from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, dollars, names, place_of
from pytest_recall.core.errors import RecallError
from pytest_recall.core.estimate import estimate, seen
from pytest_recall.core.record import Record
from pytest_recall.render import estimate as render
from pytest_recall.render.sentences import slice_line
from pytest_recall.run.context import Asked
from pytest_recall.run.place import Place
from pytest_recall.run.plan import Wanted, check_names, make_plan
from pytest_recall.store.journal import read_journal

RUNS = 20
DETAILS = f"""\
Each case is taken for what it cost in the last runs that are in eval/_artifacts, all its
calls and its judges' together; a case that never ran, for the mean of its scenario. What is
not known is said, and is in no sum. A replayed call counts with its price when it is live.

With --budget the exit code is 1 if the estimate is higher, or if it leaves a case out.
The newest {RUNS} runs are read; --runs changes that.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "estimate", "say what today's slice will cost, from history", run, DETAILS)
    parser.add_argument("--mode", help="pr, nightly or all (default: as `pytest -p recall` would have it)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--seed", help="what draws the new cases (default: the pull request, else the date)")
    parser.add_argument("--scenarios", default="", metavar="A,B", help="choose from these scenarios only")
    parser.add_argument("--dimensions", default="", metavar="A,B", help="choose from these dimensions only")
    parser.add_argument("--runs", type=_count, default=RUNS, metavar="N", help="how many earlier runs to read")
    parser.add_argument("--budget", type=dollars, metavar="USD", help="exit with 1 if the estimate is above this")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs from 1 up")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, Asked(date=args.date, seed=args.seed, mode=args.mode))
    wanted = Wanted(scenarios=names(args.scenarios), dimensions=names(args.dimensions))
    plan = make_plan(place, case_paths(place, args), context, rubric, wanted, complete=True)
    check_names(plan, {})
    chosen = {case.id: case.scenario for file in plan.files.values() for case in file.cases(plan.reasons)}
    records = list(_history(place, args.runs))
    found = estimate(chosen, seen(records))
    if args.json:
        print(json.dumps(render.as_json(found, len(records)), indent=2, ensure_ascii=False))
    else:
        print("\n".join(render.lines(found, len(records))))
    print(f"recall: {slice_line(plan.header('', ''))}", file=sys.stderr)
    if args.budget is None:
        return 0
    problem = render.beyond(found.usd, args.budget)
    if problem:
        print(f"recall: {problem}", file=sys.stderr)
    return int(bool(problem))


def _history(place: Place, count: int) -> list[Record]:
    """Return the newest runs that can be read, newest first: one that cannot is no reason not to estimate."""
    records: list[Record] = []
    for folder in reversed(place.artifacts.runs()):
        if len(records) == count:
            break
        try:
            records.append(read_journal(folder))
        except RecallError as error:
            print(f"recall: left out: {error}", file=sys.stderr)
    return records
