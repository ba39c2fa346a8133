"""The commands `recall accept`, for an intended change, and `recall ci merge`, for the shards of a run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cli.common import Commands, add_files, case_paths, command, job_here, names, place_of
from pytest_recall.files import clock
from pytest_recall.files.disk import locked, write_all
from pytest_recall.files.errors import RecallError
from pytest_recall.files.git import user_name
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.results import scorecard_text
from pytest_recall.runs.accept import Asked, accepted
from pytest_recall.runs.checkout import folds_here
from pytest_recall.runs.context import Filters, today_in
from pytest_recall.runs.join import merge
from pytest_recall.schedule.commands import apply_run, check_writes
from pytest_recall.trials.journal import read_journal

SHOWN = 40
"""Cases and files that are named at the most; the diff has all but recordings."""

ACCEPT_DETAILS = """\
For each case that failed in RUN, the agent's answer becomes `expected` in its case file, its row becomes a pass in
box 1 with the person and date, and the recordings of the run are copied. Everything is checked before anything is
written, and all of it is written or nothing. Read the diff first:

  recall accept latest --dry-run              what would change
  recall accept latest                        every case that failed and can be accepted by its answer
  recall accept latest late-fee --by "Ana"    one case
  recall accept latest --cassettes /tmp/tapes  of a run with `--record /tmp/tapes`

Only `exact`, `numeric` and `token_f1` compare the whole answer with `expected`. A case that a model, a judge of your
own or another judge decides is listed with its place: edit it. A replayed answer is listed as well, since the
model was not asked. A case that was edited since, or has a newer verdict, is refused, and nothing is written.

Exit code 1 says that there is nothing to accept, 2 that something was left out.
"""


def add_accept(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "accept",
        "take the answers of failed cases for the expected ones, in one step",
        run_accept,
        ACCEPT_DETAILS,
    )
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder, `latest` or `previous`")
    parser.add_argument("cases", nargs="*", metavar="CASE-ID", help="the cases (default: all that failed)")
    parser.add_argument("--scenarios", type=names, default=(), metavar="A,B", help="only cases of these scenarios")
    parser.add_argument("--by", metavar="NAME", help="who accepts (default: git's user.name)")
    parser.add_argument(
        "--cassettes",
        type=Path,
        metavar="DIR",
        help="the folder that the run was recorded into (default: eval/cassettes, where nothing is copied)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the diff, and write nothing")
    add_files(parser)


def run_accept(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    by = one_line(args.by if args.by is not None else user_name(place.root), 100)
    if not by:
        given = "--by is empty" if args.by is not None else "git has no user.name here"
        raise RecallError(f"who accepts is not known: {given}; give --by NAME")
    if args.cassettes is not None and not args.cassettes.is_dir():
        raise RecallError(f"--cassettes: {args.cassettes} is not a folder; give the one that the run was recorded into")
    now = clock.now()
    asked = Asked(
        tuple(dict.fromkeys(args.cases)), args.scenarios, by, now, today_in(os.environ, now.date()), args.cassettes
    )
    place.artifacts.make()
    with locked(place.lock):
        files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
        check_unique(files)
        record = read_journal(folder)
        Filters(scenarios=args.scenarios).check([trial.scenario for trial in record.trials], ())
        done = accepted(place, record, files, asked, folds=folds_here(place, job_here()))
        if not args.dry_run:
            write_all(done.contents)
    for told in (*done.left, *done.notes):
        print(f"recall: {told}", file=sys.stderr)
    if not done.cases:
        print(f"{folder.name}: nothing to accept" + (f": {plural(len(done.left), 'case')} left" if done.left else ""))
        return 1
    sys.stdout.write(done.diff)
    would = "would be " if args.dry_run else ""
    print(f"{plural(len(done.cases), 'case')} {would}accepted by {by}: {listed(done.cases, SHOWN)}")
    print(f"{'would change' if args.dry_run else 'changed'}: {listed(map(place.name, done.contents), SHOWN)}")
    return 2 if done.left else 0


MERGE_DETAILS = """\
RUN_DIR is the folder of a run with --recall-shard, or a folder that holds some at any depth, as
artifacts of CI jobs are downloaded. Their order does not matter, and a shard that is given twice counts
once; of one that was run again the later run counts. Merging again brings the same run up to date.
Shards of different slices, dates, seeds or states are refused.

Exit code 2 says that a shard is missing or was cut off: what it had to run is named, and keeps its rows.
"""


def add_merge(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "merge", "join the shards of a run into one, with its scorecard", run_merge, MERGE_DETAILS
    )
    parser.add_argument("runs", nargs="+", metavar="RUN_DIR", help="folders of shards, or folders that hold some")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="the folder of the run (default: one in eval/_artifacts)"
    )
    parser.add_argument("--apply", action="store_true", help="apply it to eval/recall.yaml as well")
    parser.add_argument("--explicit", action="store_true", help="with --apply, also cases that someone chose by hand")


def run_merge(args: argparse.Namespace) -> int:
    """Run the command."""
    place, job = place_of(args), job_here()
    done = merge(place, args.runs, args.out, clock.now(), job)
    print("\n".join(scorecard_text.terminal(done.record, done.card)))
    for note in done.notes:
        print(note)
    print(f"details: {place.name(done.folder)}/scorecard.md")
    if args.apply:
        check_writes(done.record, done.folder, explicit=args.explicit)
        apply_run(place, done.folder, done.record, job)
    return 2 if done.record.header.lost else 0
