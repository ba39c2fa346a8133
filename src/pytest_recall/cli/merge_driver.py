"""`recall state merge-driver`: merge the state file, as git asks for it."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.merge_file import drive

DETAILS = """\
git calls this in the middle of a merge with %O %A %B %P, once `recall init --git` has told it to. Rows that both
sides have changed get the verdicts of both. Exit code 0 says that the file is merged. A file that
is no state is left with conflict markers, as git leaves any other, and the exit code is 1.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "merge-driver", "merge eval/recall.yaml row by row; git calls it", run, DETAILS)
    parser.add_argument("base", type=Path, metavar="BASE", help="what both sides began with")
    parser.add_argument("ours", type=Path, metavar="OURS", help="our side, which is replaced by the merged state")
    parser.add_argument("theirs", type=Path, metavar="THEIRS", help="the other side")
    parser.add_argument("name", metavar="PATH", help="where the file is in the working tree")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    try:
        drive(args.base, args.ours, args.theirs, args.name, datetime.now(UTC).date())
    except RecallError as error:
        for message in error.messages:
            print(f"recall: {message}", file=sys.stderr)
        return 1
    return 0
