"""`recall ci merge`: join the shards of a run into one run."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from pytest_recall.cli.apply import check_writes, fold
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.results import scorecard_text as render
from pytest_recall.runs.join import merge

DETAILS = """\
RUN_DIR is the folder of a run with --recall-shard, or a folder that holds some at any depth, as
artifacts of CI jobs are downloaded. Their order does not matter, and a shard that is given twice counts
once; of one that was run again the later run counts. Merging again brings the same run up to date.
Shards of different slices, dates, seeds or states are refused.

Exit code 2 says that a shard is missing or was cut off: what it had to run is named, and keeps its rows.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "merge", "join the shards of a run into one, with its scorecard", run, DETAILS)
    parser.add_argument("runs", nargs="+", metavar="RUN_DIR", help="folders of shards, or folders that hold some")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="the folder of the run (default: one in eval/_artifacts)"
    )
    parser.add_argument("--apply", action="store_true", help="fold it into eval/recall.yaml as well")
    parser.add_argument("--explicit", action="store_true", help="with --apply, also cases that someone chose by hand")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    done = merge(place, args.runs, args.out, datetime.now(UTC))
    print("\n".join(render.terminal(done.record, done.card)))
    for note in done.notes:
        print(note)
    print(f"details: {place.name(done.folder)}/scorecard.md")
    if args.apply:
        check_writes(done.record, done.folder, explicit=args.explicit)
        fold(place, done.folder, done.record)
    return 2 if done.record.header.lost else 0
