"""`recall schedule backtest`: what each schedule would have run and seen in the place of the runs on record."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, add_files, case_paths, command, dollars, place_of
from pytest_recall.cli.policies import add_sizes, journals, sizes_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.schedule import schedule_text as render
from pytest_recall.schedule.backtest import as_it_was, backtest, check_enough, read_verdicts, rows_before
from pytest_recall.schedule.history import PastRun, habits, in_order, past_of, past_of_lines, settled
from pytest_recall.schedule.simulate import literal, lottery

DETAILS = """\
The runs are those in eval/_artifacts, and in each DIR of --runs; in the place of each the
schedules choose a slice of their own, from what they have seen by then. The first run is where
they all begin. A run with a pull request's number is a pull request, any other one a night; runs
of one pull request on one day are one, and cases that a person chose are left out.

A table of runs that ran everything says more, and may be from anywhere: a line of JSON for each
verdict, {"date": "2026-11-21", "case_id": "hours", "outcome": "passed", "pr": 7}, without "pr"
on the main branch.

A regression is a case that passed and then failed in two runs in a row, or in one that asked
again. Repeats that confirm a fail are in no count.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    summary = "say what each schedule would have run, seen and missed in the place of the runs on record"
    parser = command(commands, "backtest", summary, run, DETAILS)
    parser.add_argument(
        "--runs", type=Path, action="append", default=[], metavar="DIR", help="a folder with further runs; repeatable"
    )
    parser.add_argument(
        "--verdicts", type=Path, action="append", default=[], metavar="FILE", help="a table of verdicts; repeatable"
    )
    parser.add_argument("--usd", type=dollars, metavar="USD", help="what a trial costs (default: by the runs)")
    add_sizes(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    if absent := [folder for folder in args.runs if not folder.is_dir()]:
        raise RecallError(f"--runs: {absent[0]}: no such directory; give a folder of runs, such as eval/_artifacts")
    table = [line for path in args.verdicts for line in read_verdicts(path, place.name(path))]
    records = list(journals([place.artifacts.folder, *args.runs]))
    told = [past for record in records if (past := past_of(record)) is not None]
    every = in_order([*told, *past_of_lines(table)])
    known = {case_id for file in files for case_id in file.lines}
    runs = _of_cases(every, known)
    check_enough(runs)
    gone = {case_id for past in every for case_id in past.verdicts} - known
    cases = {case_id for past in runs for case_id in past.verdicts}
    usd = settled({"usd": args.usd}, habits(records), {"usd": None})["usd"]
    rows = {case_id: row for case_id, row in rows_before(records, runs[0].day).items() if case_id in known}
    sizes = sizes_of(args, rubric, len(known))
    found = [as_it_was(runs)]
    for make in (lambda some: literal(rubric, some), lambda some: lottery(some, *sizes)):
        found.append(backtest(make, runs, rows, rubric.quarantine))
        print(f"recall: {found[-1].policy} done", file=sys.stderr, flush=True)
    if args.json:
        facts = {
            "first": runs[0].day.isoformat(),
            "last": runs[-1].day.isoformat(),
            "cases": len(cases),
            "never_run": len(known - cases),
            "gone": len(gone),
            "sizes": sizes._asdict(),
        }
        print(json.dumps(render.backtest_json(found, usd, facts), indent=2))
        return 0
    pulls = sum(past.pr is not None for past in runs[1:])
    notes = [
        f"{plural(len(runs) - 1, 'run')} on record from {runs[0].day} to {runs[-1].day}, of which {pulls:,} of pull"
        f" requests, after a first one that all begin with; {plural(len(cases), 'case')}."
    ]
    if all(past.pr is not None for past in runs[1:]):
        notes.append("No run on the main branch is on record, so that no schedule has a night.")
    if never := len(known - cases):
        notes.append(f"{plural(never, 'case')} of the case files in no run, and left out.")
    if gone:
        notes.append(f"{plural(len(gone), 'case')} on record in no case file any more, and left out.")
    print("\n".join(render.backtest_lines(found, usd, notes)))
    return 0


def _of_cases(runs: list[PastRun], known: set[str]) -> list[PastRun]:
    """Return the runs with the verdicts on cases that there still are, without those that have none."""
    kept = [
        past._replace(verdicts={case_id: passed for case_id, passed in past.verdicts.items() if case_id in known})
        for past in runs
    ]
    return [past for past in kept if past.verdicts]
