"""`recall bench rescore`: whether the numbers of a run's files are what its answers come to."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Reads result.json, progress.jsonl and, where it is there, questions.jsonl of a run, of ours or a published
one. Means, counts, rates, the heatmap and the totals are computed again from the points of the answers, and
each is compared with what is written, to twelve digits. The judge is not asked again.

  recall bench rescore results/ea-180d-mempalace
  recall bench rescore results/ea-180d-mempalace --json

exit codes: 0 all numbers agree, 1 one differs, 2 the run cannot be read, or there is nothing to compare
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "rescore", "compute a run's numbers again from its answers", run, DETAILS)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.horizon import run_text as render
    from pytest_recall.horizon.regrade import rescore
    from pytest_recall.horizon.run_file import read_lines
    from pytest_recall.horizon.runs import read_run

    found, lines = read_run(args.run_dir), read_lines(args.run_dir)
    if not found.evaluations:
        raise RecallError(f"{args.run_dir}: holds no answers, so that nothing can be computed again; rebuild the run")
    rescored = rescore(found, [*lines.checkpoints, lines.summary], lines.questions if lines.labelled else None)
    name = str(args.run_dir)
    if args.json:
        print(json.dumps(render.rescore_json(name, rescored), indent=2, ensure_ascii=False))
    else:
        print("\n".join(render.rescore_lines(name, rescored)))
    return int(bool(rescored.differences))
