"""`recall bench rebuild`: `result.json` of a run that was killed, from its lines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Puts result.json together from progress.jsonl and questions.jsonl. An answer goes to the checkpoint that its
line names. Published lines name none: there it goes to the first checkpoint that ended at its time or later.
Answers after the last checkpoint are left out, and counted. An existing file is not replaced; name another.

  recall bench rebuild runs/mine
  recall bench rebuild runs/mine -o rebuilt.json

exit codes: 0 written, 2 nothing was written
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "rebuild", "put result.json together from the lines of a run", run, DETAILS)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to (default: result.json in RUN_DIR)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.merging import rebuild_result
    from pytest_recall.horizon.run_file import RESULT, write_result

    path = args.out or args.run_dir / RESULT
    if path.exists():
        raise RecallError(f"{path}: is there already; name another file with --out, or remove it first")
    found, plain = rebuild_result(args.run_dir)
    write_result(path, plain)
    answers = plural(len(found.run.evaluations), "answer")
    print(f"{path}: {answers} at {plural(len(found.run.stops), 'checkpoint')}")
    if found.orphans:
        print(f"recall: {plural(found.orphans, 'answer')} after the last checkpoint left out", file=sys.stderr)
    return 0
