"""`recall bench merge`: one run of the parts of one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Writes the union of the checkpoints of runs to a new folder: result.json, progress.jsonl, and questions.jsonl
where all of them have it. Of a checkpoint that several have, the last one named counts. Runs whose memory,
models, seed or other settings differ are refused; `recall bench report` puts such ones side by side. With a
sample, a part that begins later asks more at its first checkpoint than the whole would have: to it, all are new.

  recall bench merge runs/first-half runs/second-half -o runs/whole

exit codes: 0 written, 2 nothing was written
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "merge", "make one run of the parts of one", run, DETAILS)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="the folder of a part; two or more")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="output directory; must not exist")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.wording import listed, plural
    from pytest_recall.horizon.merging import merge_folders
    from pytest_recall.horizon.run_file import QUESTIONS

    if len(args.run_dirs) < 2:
        raise RecallError(f"{args.run_dirs[0]}: is one run, which there is nothing to merge with; name another")
    merged = merge_folders(args.run_dirs, args.out)
    answers = plural(len(merged.run.evaluations), "answer")
    print(f"{args.out}: {answers} at {plural(len(merged.run.stops), 'checkpoint')}")
    if merged.replaced:
        print(f"recall: in several, the last one counts: {listed(merged.replaced)}", file=sys.stderr)
    if not (args.out / QUESTIONS).exists():
        print(f"recall: no {QUESTIONS}, since not all of them have one", file=sys.stderr)
    return 0
